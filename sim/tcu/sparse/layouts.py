"""Multiplies compressed operands: by tall calls, or by a recursion."""

from __future__ import annotations

from ..dense.bilinear import Bilinear
from ..dense.recursive import recursive
from ..dense.tall import rectangular
from ..elementwise import add
from ..formulas.sparse import Sizes
from ..tensor_unit import TensorUnit
from ..words import Array

__all__ = ["MOST_WORDS", "largest_operand", "multiplied"]

MOST_WORDS = 1 << 26
"""Most words of a compressed operand, or product."""


def largest_operand(sizes: Sizes) -> int:
    """Words of the largest of both operands and their product."""
    return max(sizes.high * sizes.inner, sizes.inner * sizes.wide, sizes.high * sizes.wide)


def multiplied(unit: TensorUnit, scheme: Bilinear | None, x: Array, y: Array) -> Array:
    """``x y`` of operands that need no padding: by tall calls; by a Strassen-like ``scheme`` in
    square blocks, as many as there are, which are added."""
    if scheme is None:
        return rectangular(unit, x, y)
    b = len(x)
    total = recursive(unit, scheme, x[:, :b], y[:b])
    for start in range(b, len(y), b):
        block = slice(start, start + b)
        total = add(unit, total, recursive(unit, scheme, x[:, block], y[block]))
    return total
