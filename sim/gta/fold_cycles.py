"""Cycles of folds on an array of any size, from a fold's begin to its last product or sum.

The element at row r and column c multiplies what entered row 0 and column 0 r + c cycles before.
What these figures rest on is simulated, register by register, in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Folds", "drained", "interval", "multiplied"]


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
    overlap: a fold's stationary operand is loaded, or its sums leave, beside another fold's work
    """

    stationary: bool
    chained: bool = False
    rows: int
    cols: int
    time: int
    folds: int
    overlap: bool = True


def interval(one: Folds) -> int:
    """Cycles from a fold's begin to the next one's.

    With overlap at least a cycle a row: so long a column's operands take to come down, or its sums,
    and each row begins to take, and ends to give, when it needs to. Without, a fold takes what
    SCALE-Sim's does (see `multiplied`).
    """
    return max(one.time, one.rows) if one.overlap else _alone(one)


def _alone(one: Folds) -> int:
    load = one.rows if one.stationary else 0
    return load + one.time + one.rows + one.cols - 2


def multiplied(one: Folds) -> int:
    """Cycles to the last product: a fold by itself takes 2 R + C + T - 2 where an operand is
    stationary, else R + C + T - 2."""
    return (one.folds - 1) * interval(one) + _alone(one)


def drained(one: Folds) -> int:
    """Cycles until the last sum has left the elements.

    Sums that stay and leave down the columns are moved aside by the fold behind theirs, an empty
    one behind the last.
    """
    if one.stationary or one.chained:
        return multiplied(one)
    return one.folds * interval(one) + 2 * one.rows + one.cols - 1
