"""Pivots that elimination without exchanges of rows cannot divide by."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array
from ..words.floats import Floats

__all__ = ["PivotError", "check_pivot", "pivot_limits"]


class PivotError(ValueError):
    """A pivot that is zero, or so small that cancellation has left nothing of it.

    Members
    -------
    row: of the pivot, from 0
    """

    def __init__(self, row: int, rows: int, pivot: float, limit: float) -> None:
        wanted = f"above {limit:.3g} in magnitude, not {pivot:.3g}" if limit else "other than 0"
        super().__init__(
            f"the pivot of row {row} (of 0..{rows - 1}) must be {wanted}, as no rows are exchanged"
        )
        self.row = row


def pivot_limits(unit: TensorUnit, a: Array) -> Array:
    """Returns the lower limit of each row's pivot. For n floats it is ``n u`` times the row's
    largest magnitude in A, found by one add per word; for words without rounding it is 0 and costs
    nothing."""
    words = unit.words
    if not isinstance(words, Floats):
        return np.zeros(len(a))
    unit.cpu(adds=a.size)
    return np.asarray(np.abs(a).max(axis=1).astype(float) * (len(a) * words.roundoff))


def check_pivot(unit: TensorUnit, pivot: Array, row: int, limits: Array) -> None:
    """Raise a PivotError unless a pivot is above its limit; rows that are padded have none. An
    add."""
    unit.cpu(adds=1)
    limit = float(limits[row]) if row < len(limits) else 0.0
    if not abs(pivot) > limit:  # NaN is not above anything.
        raise PivotError(row, len(limits), float(abs(pivot)), limit)
