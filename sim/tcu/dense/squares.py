"""Corollary 1 on Theorem 1: products of any shape, cut into squares, each by a Strassen-like
recursion."""

from __future__ import annotations

import numpy as np

from ..blocks import block, padded
from ..elementwise import add
from ..formulas.dense import squares
from ..tensor_unit import TensorUnit, require
from ..words import Array
from .bilinear import Bilinear
from .operands import product_operands
from .recursive import recursive

__all__ = ["in_squares"]


def in_squares(unit: TensorUnit, scheme: Bilinear, a: Array, b: Array) -> Array:
    """``a b`` of matrices (n, k) and (k, p), in squares of the least side ``s * side**h`` from the
    smallest of n, k and p on.

    Sides are padded to multiples of it; each product of squares is one by `recursive`, and those
    along k are added by the CPU. Of square matrices there is one.

    Raises TypeError and ValueError for other operands, and for words that do not subtract if the
    scheme does.
    """
    require(unit, scheme.name, subtraction=scheme.subtracts)
    left, right = product_operands(unit, a, b)
    (n, k), p = left.shape, right.shape[1]
    cut = squares(n, k, p, unit.s, scheme.side)
    side = cut.side
    left = padded(unit, left, cut.down * side, cut.deep * side)
    right = padded(unit, right, cut.deep * side, cut.across * side)
    c = np.empty((left.shape[0], right.shape[1]), unit.words.dtype)
    for i, j in np.ndindex(cut.down, cut.across):
        place = block(c, i, j, side)
        for m in range(cut.deep):
            made = recursive(unit, scheme, block(left, i, m, side), block(right, m, j, side))
            # Not charged: what comes is where it is wanted, and a sum is written once.
            place[...] = add(unit, place, made) if m else made
    return c[:n, :p]
