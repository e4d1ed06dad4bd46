"""Parts of a matrix in CSR, and a matrix of its parts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .c2sr import CsrPatterns, run_indices, starts_of

__all__ = ["join_rows", "no_entries", "take_columns", "take_rows"]

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
