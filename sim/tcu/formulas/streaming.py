"""Calls of one block against a left operand of any number of rows."""

from __future__ import annotations

from ..cost import UnitWork
from ..tensor_unit import multiple

__all__ = ["stream"]


def stream(rows: int, s: int, weak: bool = False) -> UnitWork:
    """Work of one call of at least ``s`` rows; on a weak unit that of as many squares as needed."""
    if weak:
        wide = multiple(rows, s)
        return UnitWork(wide // s, wide)
    return UnitWork(1, max(rows, s))
