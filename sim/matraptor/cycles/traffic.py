"""An outer product: the bytes that the hardware reads, and the work of which it has a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.matraptor import MatRaptorConfig
from ...sparse.c2sr import C2sr
from ..result.outer import walk
from .bound import Work

__all__ = ["by_outer_products", "bytes_read"]

Ints = npt.NDArray[np.int64]


def bytes_read(config: MatRaptorConfig, t: C2sr, b: C2sr, rows: int) -> dict[str, int]:
    """Returns the byte counters of a job that completes without error; ``rows``: of C.

    A lane with rows of C reads the pairs of its rows of T and their entries by blocks of the
    interleaving, a block once for rows that follow each other in it; and, for each of its rows that
    is not empty, the beat with the pair of that row of B, and the row's beats.
    """
    beat, own = config.beat_bytes, _own_rows(config, t)
    entries = int(_pieces(config, b, beat)[own // config.lanes].sum()) * beat
    found = {
        "bytes_a_pairs": _pair_blocks(config, t.shape[0], rows) * config.interleave,
        "bytes_a_entries": _entry_blocks(config, t, own) * config.interleave,
        "bytes_b_pairs": len(own) * beat,
        "bytes_b_entries": entries,
    }
    return found | {"bytes_read": sum(found.values())}


def by_outer_products(config: MatRaptorConfig, t: C2sr, b: C2sr, rows: int) -> Work:
    """Returns the work of a job; ``rows``: of C. A lane reads a row of B once for each column of A
    in which it has entries."""
    lanes = config.lanes
    number = np.arange(t.shape[0])
    in_lanes = t.lengths.reshape(-1, lanes)
    return Work(
        left_rows=number[number % lanes < rows],
        left_lengths=t.lengths,
        left_pointers=t.pointers,
        right_lengths=b.lengths,
        right_pointers=b.pointers,
        uses=(in_lanes > 0).sum(axis=1),
        products=tuple((in_lanes * b.lengths[:, None]).sum(axis=0).tolist()),
        rows=rows,
    )


def _own_rows(config: MatRaptorConfig, t: C2sr) -> Ints:
    """Rows of T with entries, lane by lane in the order of its walk."""
    order = walk(config, t.shape[0] // config.lanes) * config.lanes
    rows = (order + np.arange(config.lanes)[:, None]).reshape(-1)
    found: Ints = rows[t.lengths[rows] > 0]
    return found


def _pieces(config: MatRaptorConfig, matrix: C2sr, size: int) -> Ints:
    """Returns for each row the number of pieces of ``size`` bytes that its entries touch."""
    entry = config.layout.entry_bytes
    first = matrix.pointers * entry // size
    last = ((matrix.pointers + matrix.lengths) * entry - 1) // size
    return np.where(matrix.lengths > 0, last - first + 1, 0)


def _pair_blocks(config: MatRaptorConfig, stored: int, rows: int) -> int:
    number = np.arange(stored)
    number = number[number % config.lanes < rows]
    index, channel = np.divmod(number, config.channels)
    blocks = (number % config.lanes, channel, index // config.layout.block_pairs)
    return np.unique(np.stack(blocks), axis=1).shape[1]


def _entry_blocks(config: MatRaptorConfig, t: C2sr, own: Ints) -> int:
    block = config.layout.block_entries
    first, last = t.pointers[own] // block, (t.pointers[own] + t.lengths[own] - 1) // block
    lane, channel = own % config.lanes, own % config.channels
    behind = t.pointers[own][1:] >= (t.pointers + t.lengths)[own][:-1]
    held = (lane[1:] == lane[:-1]) & (channel[1:] == channel[:-1]) & (first[1:] == last[:-1])
    held &= behind
    return int((last - first + 1).sum()) - int(held.sum())
