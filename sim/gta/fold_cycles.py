"""Cycles of folds on an array of any size, from its first operand to its last product or sum.

The element at row r and column c multiplies what entered row 0 and column 0 r + c cycles before.
What these figures rest on is simulated, register by register, in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from .pipeline import PIPELINE, Pipeline

__all__ = ["Folds", "drained", "interval", "multiplied"]

_ADDED_ROWS = 8
"""Rows of a lane, whose sums of a column share a port of the memory of results."""


@dataclass(frozen=True, kw_only=True)
class Folds:
    """A run of equal folds.

    Parameters
    ----------
    stationary: whether an operand is loaded before a fold and stays (``ws``); else sums stay
    chained: of sums that stay, whether they leave through the fused adders of floats, each when it
        is complete, not down the columns
    rows, cols: of the array, in elements; a fold takes all of it
    time: cycles in which each element multiplies
    folds: how many
    overlap: a fold's stationary operand is loaded, or its sums leave, beside the next fold's work
    """

    stationary: bool
    chained: bool = False
    rows: int
    cols: int
    time: int
    folds: int
    overlap: bool = True


def interval(one: Folds, pipeline: Pipeline = PIPELINE) -> int:
    """Cycles from a fold's begin to the next one's.

    With overlap, stationary: loading takes a cycle a row, and what is loaded must stay until it has
    been taken down all rows, which takes as long again. Sums that leave down the columns take a
    cycle a row. Those of floats take a lane's port for a cycle a row.
    Without, a fold takes what SCALE-Sim's does (see `multiplied`).
    """
    if not one.overlap:
        return _alone(one)
    if one.stationary:
        return max(one.time, 2 * one.rows + pipeline.reload)
    return max(one.time, _ADDED_ROWS if one.chained else one.rows + pipeline.turn)


def _alone(one: Folds) -> int:
    load = one.rows if one.stationary else 0
    return load + one.time + one.rows + one.cols - 2


def multiplied(one: Folds, pipeline: Pipeline = PIPELINE) -> int:
    """Cycles to the last product: a fold by itself takes 2 R + C + T - 2 where an operand is
    stationary, else R + C + T - 2."""
    return (one.folds - 1) * interval(one, pipeline) + _alone(one)


def drained(one: Folds, pipeline: Pipeline = PIPELINE) -> int:
    """Cycles until the last sum has left the elements.

    Sums that stay and leave down the columns are moved aside by what follows their fold, a closing
    one behind the last fold, as soon as those of the fold before have left.
    """
    if one.stationary or one.chained:
        return multiplied(one, pipeline)
    before = one.rows + pipeline.turn if one.folds > 1 else 0
    begun = (one.folds - 1) * interval(one, pipeline)
    return begun + max(one.time, before) + 2 * one.rows + one.cols - 1
