"""A left operand of any number of rows against one block: the call that algorithms are made of.

A tall unit takes it whole, padded to s rows if there are fewer; a weak one in squares, which costs
a latency each (section 4 of the paper).
"""

from __future__ import annotations

import numpy as np

from .blocks import multiple, padded
from .tensor_unit import TensorUnit
from .words import Array

__all__ = ["stream"]


def stream(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b``: (n, s) by (s, s) for any n from 1, as ``formulas.streaming.stream`` counts it."""
    n, s = a.shape[0], unit.s
    if not unit.weak:
        return unit.multiply(padded(unit, a, max(n, s), s), b)[:n]
    wide = padded(unit, a, multiple(n, s), s)
    squares = [unit.multiply(wide[row : row + s], b) for row in range(0, len(wide), s)]
    return np.concatenate(squares)[:n]
