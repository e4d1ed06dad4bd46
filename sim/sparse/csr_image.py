"""Sparse matrices in a device's memory as plain CSR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import COLUMN_BYTES, POINTER_BYTES, C2srLayout
from .c2sr import C2sr, CsrPatterns, check_shape, from_patterns, run_indices, starts_of
from .image import StoredRows, check_rows, entry_type, image, image_sizes
from .memory_blocks import Block, Read, read_bytes

Ints = npt.NDArray[np.int64]


def no_entries(rows: int) -> CsrPatterns:
    """Empty rows."""
    return CsrPatterns(np.zeros(rows + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64))


def take_rows(matrix: CsrPatterns, chosen: npt.NDArray[np.bool_] | Ints) -> CsrPatterns:
    """Some of the rows, by numbers or one truth value a row."""
    lengths = np.diff(matrix.starts)[chosen]
    where = run_indices(matrix.starts[:-1][chosen], lengths)
    return CsrPatterns(starts_of(lengths), matrix.columns[where], matrix.values[where])


def take_columns(matrix: CsrPatterns, part: tuple[int, int]) -> CsrPatterns:
    """All rows, with the entries in a range of columns."""
    kept = (matrix.columns >= part[0]) & (matrix.columns < part[1])
    starts = starts_of(kept.astype(np.int64))[matrix.starts]
    return CsrPatterns(starts, matrix.columns[kept], matrix.values[kept])


def join_rows(rows: int, parts: Iterable[tuple[Ints, CsrPatterns]]) -> CsrPatterns:
    """Rows of parts, each with its rows' numbers; columns of later parts come behind."""
    parts = list(parts)
    lengths = np.zeros(rows, np.int64)
    for numbers, part in parts:
        lengths[numbers] += np.diff(part.starts)
    starts = starts_of(lengths)
    columns, values = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.uint64)
    next_free = starts[:-1].copy()
    for numbers, part in parts:
        counts = np.diff(part.starts)
        where = run_indices(next_free[numbers], counts)
        columns[where], values[where] = part.columns, part.values
        next_free[numbers] += counts
    return CsrPatterns(starts, columns, values)


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


def csr_image_sizes(c2sr: C2sr, *, apart: bool = False) -> tuple[int, ...]:
    """Bytes of a matrix in memory as plain CSR, of its pointers and of its entries, or of columns
    and values that are ``apart``: whole stripes."""
    layout = c2sr.layout
    words = (COLUMN_BYTES, layout.format.bits // 8) if apart else (layout.entry_bytes,)
    sizes = POINTER_BYTES * (c2sr.shape[0] + 1), *(word * c2sr.nnz for word in words)
    return tuple(-(-size // layout.stripe_bytes) * layout.stripe_bytes for size in sizes)


def csr_arrays(
    c2sr: C2sr, *, pointers_base: int, columns_base: int, values_base: int
) -> tuple[Block, Block, Block]:
    """A matrix in memory as plain CSR with columns, words of 32 bits, and values apart: the three
    arrays that SciPy has."""
    starts, columns, values = c2sr.patterns()
    value = f"<u{c2sr.layout.format.bits // 8}"
    arrays = starts.astype("<u4"), columns.astype("<u4"), values.astype(value)
    places = pointers_base, columns_base, values_base
    first, second, third = (
        Block(place, array.view(np.uint8)) for place, array in zip(places, arrays, strict=True)
    )
    return first, second, third


ARRAY_PARTS = ("pairs", "entries", "values")
"""Arrays of an operand: its pairs or pointers, entries or columns, and values if they are apart."""


def sizes_in(c2sr: C2sr, layout: str) -> tuple[int, ...]:
    """Bytes of the arrays of a matrix in a device's memory, in "c2sr", "csr" or "csr-arrays"."""
    if layout == "c2sr":
        return image_sizes(c2sr)
    return csr_image_sizes(c2sr, apart=layout == "csr-arrays")


def blocks_in(c2sr: C2sr, layout: str, places: Sequence[int]) -> tuple[Block, ...]:
    """The arrays themselves, at their places."""
    if layout == "csr-arrays":
        pointers, columns, values = places
        return csr_arrays(c2sr, pointers_base=pointers, columns_base=columns, values_base=values)
    first, second = places[:2]
    if layout == "csr":
        return csr_image(c2sr, pointers_base=first, entries_base=second)
    return image(c2sr, pairs_base=first, entries_base=second)


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


class StoredCsr(NamedTuple):
    """A matrix in CSR in memory.

    ``rows``: as if they were in C2SR without gaps; ``starts``: the pointers of all rows but the
    end of the last one; ``descending``: rows that end before they begin, which have no entries.
    """

    rows: StoredRows
    starts: Ints
    descending: npt.NDArray[np.bool_]


def stored_csr(
    read: Read,
    layout: C2srLayout,
    rows: int,
    *,
    pairs_base: int,
    entries_base: int,
    values_base: int | None = None,
) -> StoredCsr:
    """The matrix whose pointers are at ``pairs_base``. The first one need not be 0, and columns are
    not checked. ``values_base``: of values apart from the columns, which are then the entries.

    Raises IndexError as ``read`` does.
    """
    pointers = read_bytes(read, pairs_base, POINTER_BYTES * (rows + 1)).view("<u4")
    ends = pointers.astype(np.int64)
    lengths, starts = np.diff(ends), ends[:-1]
    descending = lengths < 0
    lengths = np.maximum(lengths, 0)
    filled = lengths > 0
    first = int(starts[filled].min(initial=ends.max()))
    end = int((starts + lengths)[filled].max(initial=first))

    def words(base: int, size: int) -> npt.NDArray[np.uint8]:
        return read_bytes(read, base + first * size, (end - first) * size)

    if values_base is None:
        entries = words(entries_base, layout.entry_bytes).view(entry_type(layout))
        all_columns, all_values = entries["column"], entries["value"]
    else:
        value = layout.format.bits // 8
        all_columns = words(entries_base, COLUMN_BYTES).view("<u4") & ((1 << layout.index_bits) - 1)
        all_values = words(values_base, value).view(f"<u{value}")
    packed, columns, values = np.zeros(rows, np.int64), [], []
    for channel in range(layout.channels):
        mine = slice(channel, None, layout.channels)
        packed[mine] = starts_of(lengths[mine])[:-1]
        found = run_indices(np.where(filled, starts - first, 0)[mine], lengths[mine])
        columns.append(all_columns[found].astype(np.int64))
        values.append(all_values[found].astype(np.uint64))
    return StoredCsr(StoredRows(lengths, packed, tuple(columns), tuple(values)), starts, descending)
