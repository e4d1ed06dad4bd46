"""Sparse matrices in a device's memory as plain CSR."""

from __future__ import annotations

import numpy as np

from ...hw.spec.c2sr import C2srLayout
from .c2sr import C2sr, CsrPatterns, check_shape, from_patterns
from .image import check_rows, entry_type
from .memory_blocks import Block, Read, read_bytes

__all__ = ["csr_image", "from_csr_image"]

_WORD = 1 << 32


def csr_image(c2sr: C2sr, *, pointers_base: int, entries_base: int) -> tuple[Block, Block]:
    """A matrix in memory as plain CSR: ``rows + 1`` words of 32 bits that say where each row
    begins and the last one ends, and the entries, both at consecutive addresses.

    Raises ValueError if it has more entries than a word counts.
    """
    starts, columns, values = c2sr.patterns()
    if starts[-1] >= _WORD:
        raise ValueError(f"CSR holds at most {_WORD - 1} entries, not {starts[-1]}")
    entries = np.zeros(len(columns), entry_type(c2sr.layout))
    entries["value"], entries["column"] = values, columns
    pointers = starts.astype("<u4").view(np.uint8)
    return Block(pointers_base, pointers), Block(entries_base, entries.view(np.uint8))


def from_csr_image(
    read: Read,
    layout: C2srLayout,
    shape: tuple[int, int],
    *,
    pointers_base: int,
    entries_base: int,
    room: int | None = None,
) -> C2sr:
    """The matrix at an address in plain CSR; ``room``: entries it may have, if that is known.

    Raises ValueError if the words do not ascend from 0 to the room given, or columns do not ascend
    within the matrix.
    """
    check_shape(shape, layout)
    starts = read_bytes(read, pointers_base, 4 * (shape[0] + 1)).view("<u4").astype(np.int64)
    lengths = np.diff(starts)
    if starts[0] or (lengths < 0).any():
        row = int(np.argmax(lengths < 0)) if not starts[0] else 0
        raise ValueError(f"row pointers must ascend from 0: row {row} begins at {starts[row]}")
    check_rows(lengths, starts[:-1], shape[1], _WORD if room is None else room)
    entries = read_bytes(read, entries_base, int(starts[-1]) * layout.entry_bytes).view(
        entry_type(layout)
    )
    columns, values = entries["column"].astype(np.int64), entries["value"].astype(np.uint64)
    return from_patterns(CsrPatterns(starts, columns, values), shape, layout)
