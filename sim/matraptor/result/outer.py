"""Golden model of MatRaptor's second mode: ``C = A (x) B`` as a sum of outer products.

Column k of A times row k of B gives a term for every entry of C that both reach; the sums stay on
the chip. A is stored by columns, divided among the lanes: ``T``, a C2SR matrix in whose row
``k * lanes + i % lanes`` the entry ``A[i, k]`` has column ``i // lanes``. Each lane reads its rows
of T in the order of its walk, and adds the products of an element in that order, each sum rounded
once.

Source: MatRaptor, the second mode that its last chapter proposes. The storage of A, the order and
the limits are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ....hw.spec.c2sr import PAIR_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from ...numbers import semirings
from ...numbers.values import Patterns
from ...sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of
from .rows import (
    SparseProduct,
    Statistics,
    cut_rows,
    least_capacity,
    multiply_terms,
    place_rows,
    products_per_row,
    terms_of,
)

__all__ = [
    "Tiles", "by_columns", "check_operands", "outer_product", "overflow_rows", "sum_lines",
    "tiles_of", "walk",
]  # fmt: skip

Ints = npt.NDArray[np.int64]

_PIECE = 1 << 15
"""Sums to compute at once: they stay in the processor's cache."""


def by_columns(config: MatRaptorConfig, a: C2sr) -> C2sr:
    """T, as the mode reads it, of the matrix A.

    Raises ValueError if A is laid out otherwise than ``config`` says, or T has more rows than
    ``index_bits`` can number.
    """
    _check_layout(config, "a", a)
    rows, inner = a.shape
    lanes = config.lanes
    starts, columns, values = a.patterns()
    which = np.repeat(np.arange(rows), np.diff(starts))
    place = columns * lanes + which % lanes
    # Stable: rows of A ascend within a row of T.
    order = np.argsort(place, kind="stable")
    lengths = np.bincount(place, minlength=inner * lanes).astype(np.int64)
    stored = CsrPatterns(starts_of(lengths), which[order] // lanes, values[order])
    return from_patterns(stored, (inner * lanes, -(-rows // lanes)), config.layout)


def walk(config: MatRaptorConfig, count: int) -> Ints:
    """The first ``count`` rows of a lane in the order of its walk: numbers among its own rows."""
    own = np.arange(count)
    index, slot = np.divmod(own, config.lane_channels)
    return np.lexsort((index, slot, index // config.layout.block_pairs))


def sum_lines(config: MatRaptorConfig, rows: int, columns: int) -> Ints:
    """(lanes,) lines that the sums of each lane take of the queues' depth."""
    own = (rows - np.arange(config.lanes) + config.lanes - 1) // config.lanes
    return own * -(-columns // config.accumulator_banks)


def overflow_rows(config: MatRaptorConfig, rows: int, columns: int) -> Ints:
    """Returns the first row that does not fit, for each lane whose sums do not, in the order of the
    lane's walk."""
    each = max(1, -(-columns // config.accumulator_banks))
    place = config.queue_depth // each
    # The first rows of the walk do not depend on the groups of blocks behind.
    group = config.layout.block_pairs * config.lane_channels
    most = (place // group + 1) * group
    found = []
    for lane, lines in enumerate(sum_lines(config, rows, columns).tolist()):
        if lines > config.queue_depth:
            own = walk(config, min(lines // each, most))[place]
            found.append(int(own) * config.lanes + lane)
    return np.sort(np.array(found, np.int64))


def outer_product(
    config: MatRaptorConfig, t: C2sr, b: C2sr, rows: int, *, capacity: int | None = None
) -> SparseProduct:
    """The product of two matrices by the accelerator of ``config`` in its second mode.

    Of the result, ``overflow`` is `overflow_rows`; if there are any, nothing else is computed. In
    the statistics nothing is merged, ``pops`` is 0 and ``largest_queue`` in lines.

    Parameters
    ----------
    t: A, as `by_columns` stores it
    b: in the layout of ``config``
    rows: of A and C
    capacity: entries that each lane may write into each of its channels; by default as many as the
        result needs

    Raises
    ------
    ValueError if the matrices do not fit each other or ``config``, B has more columns than a queue
    entries, or ``capacity`` is not a multiple of a block's entries.
    """
    check_operands(config, t, b, rows)
    inner, columns = b.shape
    overflow = overflow_rows(config, rows, columns)
    if len(overflow):
        return _too_large(config, overflow, rows)
    left = _ordered(config, t, rows, walk(config, inner))
    right = b.patterns()
    products = starts_of(products_per_row(left, right))
    parts = [_sums(config, left, right, part, columns) for part in pairwise(cut_rows(products))]
    places = np.concatenate([places for places, _ in parts])
    lengths = np.bincount(places // max(1, columns), minlength=rows).astype(np.int64)
    if capacity is None:
        capacity = least_capacity(config, lengths)
    pointers, region = place_rows(config, lengths, capacity)
    c = None
    if not len(region):
        values = np.concatenate([values for _, values in parts])
        entries = CsrPatterns(starts_of(lengths), places % max(1, columns), values)
        c = from_patterns(entries, (rows, columns), config.layout, pointers=pointers)
    lanes = np.arange(rows) % config.lanes
    statistics = Statistics(
        products=int(products[-1]),
        results=len(places),
        merge_steps=0,
        pops=0,
        largest_queue=int(sum_lines(config, rows, columns).max()),
        lane_products=np.bincount(lanes, np.diff(products), config.lanes).astype(np.int64),
    )
    return SparseProduct(
        c=c, overflow=overflow, region=region, lengths=lengths, statistics=statistics
    )


def check_operands(config: MatRaptorConfig, t: C2sr, b: C2sr, rows: int) -> None:
    """Raise ValueError if the operands of `outer_product` do not fit each other or ``config``."""
    _check_layout(config, "b", b)
    _check_stored(config, t, rows)
    inner, columns = b.shape
    if t.shape[0] != inner * config.lanes:
        raise ValueError(f"`t` must have {inner * config.lanes} rows, {config.lanes} for each of "
                         f"`b`, not {t.shape[0]}")  # fmt: skip
    if columns > config.queue_depth:
        raise ValueError(
            f"`b` must have at most {config.queue_depth} columns, a queue's depth, not {columns}"
        )


def _check_layout(config: MatRaptorConfig, name: str, matrix: C2sr) -> None:
    if matrix.layout != config.layout:
        raise ValueError(f"`{name}` must be laid out as {config.layout}, not {matrix.layout}")


def _check_stored(config: MatRaptorConfig, t: C2sr, rows: int) -> None:
    _check_layout(config, "t", t)
    lanes = config.lanes
    most = -(-rows // lanes)
    if t.shape[0] % lanes or t.shape[1] != most:
        raise ValueError(f"`t` must have a multiple of {lanes} rows and {most} columns, "
                         f"not {t.shape[0]} and {t.shape[1]}")  # fmt: skip
    starts, columns, _ = t.patterns()
    which = np.repeat(np.arange(t.shape[0]), np.diff(starts))
    outside = columns * lanes + which % lanes >= rows
    if outside.any():
        row = int(which[np.argmax(outside)])
        raise ValueError(f"row {row} of `t` must be about rows below {rows}")


def _ordered(config: MatRaptorConfig, t: C2sr, rows: int, order: Ints) -> CsrPatterns:
    """A by rows, the entries of each in this ``order`` of their columns."""
    starts, columns, values = t.patterns()
    k, lane = np.divmod(np.repeat(np.arange(t.shape[0]), np.diff(starts)), config.lanes)
    row = columns * config.lanes + lane
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    found = np.lexsort((rank[k], row))
    lengths = np.bincount(row, minlength=rows).astype(np.int64)
    return CsrPatterns(starts_of(lengths), k[found], values[found])


def _too_large(config: MatRaptorConfig, overflow: Ints, rows: int) -> SparseProduct:
    statistics = Statistics(
        products=0,
        results=0,
        merge_steps=0,
        pops=0,
        largest_queue=0,
        lane_products=np.zeros(config.lanes, np.int64),
    )
    return SparseProduct(
        c=None,
        overflow=overflow,
        region=np.zeros(0, np.int64),
        lengths=np.zeros(rows, np.int64),
        statistics=statistics,
    )


def _sums(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, part: tuple[int, int], columns: int
) -> tuple[Ints, Patterns]:
    """Entries of some rows of C: ``row * columns + column``, and values."""
    which_a, which_b = terms_of(a, b, *part)
    found = multiply_terms(config, a, b, which_a, which_b)
    row = np.searchsorted(a.starts, which_a, side="right") - 1
    places = row * columns + b.columns[which_b]
    # Stable: products of a place stay in their order.
    order = np.argsort(places, kind="stable")
    places, found = places[order], found[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    terms = np.diff(first, append=len(places))
    # Those of many terms first: then those that still have terms are the first few.
    falling = np.argsort(-terms, kind="stable")
    total = np.empty(len(first), np.uint64)
    for begin in range(0, len(first), _PIECE):
        which = falling[begin : begin + _PIECE]
        sums, at, left = found[first[which]], first[which], -terms[which]
        for n in range(1, int(terms[which[0]])):
            more = int(np.searchsorted(left, -n))
            sums[:more] = semirings.combine(
                config.operators, sums[:more], found[at[:more] + n], config.format
            )
        total[which] = sums
    return places[first], total


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """A division of C into tiles.

    Parameters
    ----------
    shape: shape of C
    rows, columns: shape of a tile; the last tiles may be smaller
    """

    shape: tuple[int, int]
    rows: int
    columns: int

    @property
    def count(self) -> int:
        """Number of tiles."""
        return -(-self.shape[0] // self.rows) * -(-self.shape[1] // self.columns)

    @property
    def row_ranges(self) -> list[tuple[int, int]]:
        """Returns the ranges of rows, start and end, of the rows of tiles."""
        return list(pairwise([*range(0, self.shape[0], self.rows), self.shape[0]]))

    @property
    def column_ranges(self) -> list[tuple[int, int]]:
        return list(pairwise([*range(0, self.shape[1], self.columns), self.shape[1]]))


def tiles_of(
    config: MatRaptorConfig, shape: tuple[int, int], inner: int, entries: tuple[int, int]
) -> Tiles:
    """Chooses the tiles that fit the chip and need the fewest bytes of reads, if every lane needs
    every row of B. Returns a single tile if C fits.

    Parameters
    ----------
    shape: shape of C, at least 1 x 1
    inner: columns of A, which are the rows of B
    entries: numbers of entries of A and of B
    """
    rows, columns = shape
    depth, lanes, entry = config.queue_depth, config.lanes, config.layout.entry_bytes
    widest = min(columns, depth)
    lines = np.arange(1, -(-widest // config.accumulator_banks) + 1)
    width = np.minimum(lines * config.accumulator_banks, widest)
    height = np.minimum(depth // lines * lanes, rows)
    across, down = -(-columns // width), -(-rows // height)
    pairs = inner * lanes * (PAIR_BYTES + config.beat_bytes)
    read = across * down * pairs + across * entries[0] * entry + down * lanes * entries[1] * entry
    best = int(np.argmin(read))
    return Tiles(shape=shape, rows=int(height[best]), columns=int(width[best]))
