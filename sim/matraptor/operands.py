"""Operands of a job as they lie in memory, and what may be wrong with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import C2srLayout
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns, run_indices, starts_of
from ..sparse.image import StoredRows

__all__ = ["first_about", "first_outside", "first_row", "needed", "sorted_rows"]

Bools = npt.NDArray[np.bool_]


def sorted_rows(
    layout: C2srLayout, shape: tuple[int, int], stored: StoredRows
) -> tuple[C2sr, Bools]:
    """The matrix with nothing in rows whose columns do not ascend, and which those are."""
    channels = layout.channels
    unsorted = np.zeros(shape[0], np.bool_)
    columns, values = list(stored.columns), list(stored.values)
    for channel in range(channels):
        rows = np.repeat(np.arange(channel, shape[0], channels), stored.lengths[channel::channels])
        falls = (columns[channel][1:] <= columns[channel][:-1]) & (rows[1:] == rows[:-1])
        unsorted[rows[1:][falls]] = True
        good = ~unsorted[rows]
        columns[channel], values[channel] = columns[channel][good], values[channel][good]
    matrix = C2sr(
        layout=layout,
        shape=shape,
        lengths=np.where(unsorted, 0, stored.lengths),
        pointers=stored.pointers,
        columns=tuple(columns),
        values=tuple(values),
    )
    return matrix, unsorted


def first_row(a: C2sr, found: Bools) -> int:
    """The row of the first entry that was found."""
    return int(np.searchsorted(a.patterns().starts, int(np.argmax(found)), side="right")) - 1


def needed(matrix: C2sr, used: Bools) -> C2sr:
    """Without the entries of rows that are not used: nobody reads them."""
    starts, columns, values = matrix.patterns()
    lengths = np.where(used, matrix.lengths, 0)
    where = run_indices(starts[:-1], lengths)
    rows = CsrPatterns(starts_of(lengths), columns[where], values[where])
    return from_patterns(rows, matrix.shape, matrix.layout, pointers=matrix.pointers)


def first_outside(lanes: int, t: C2sr, b: C2sr, rows: int, columns: int) -> int | None:
    """A row of T with an entry for a row of C that there is not, or that names a row of B with one
    for such a column."""
    which = np.repeat(np.arange(t.shape[0]), t.lengths)
    far = t.patterns().columns * lanes + which % lanes >= rows
    if far.any():
        return int(which[np.argmax(far)])
    wrong = np.repeat(np.arange(b.shape[0]), b.lengths)[b.patterns().columns >= columns]
    return first_about(lanes, t, int(wrong[0])) if len(wrong) else None


def first_about(lanes: int, t: C2sr, row_of_b: int) -> int:
    """The first row of T with entries that names a row of B."""
    first = row_of_b * lanes
    return first + int(np.argmax(t.lengths[first : first + lanes] > 0))
