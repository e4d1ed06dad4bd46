"""Theorem 2 and Corollary 1: every block of B is loaded once, and all rows of A go past it."""

from __future__ import annotations

import numpy as np

from ..blocks import block, multiple, padded
from ..elementwise import add
from ..streaming import stream
from ..tensor_unit import TensorUnit
from ..words import Array
from .operands import product_operands, square_operands

__all__ = ["rectangular", "tall"]


def tall(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b`` of square matrices of one side n: q^2 calls of n rows, q = ceil(n / s).

    CPU: (q - 1) q blocks of (n, s) are added. Raises TypeError and ValueError for other operands.
    """
    return rectangular(unit, *square_operands(unit, a, b))


def rectangular(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b`` of matrices (n, k) and (k, p): ceil(k / s) ceil(p / s) calls of n rows.

    Fewer than s rows are padded to s, columns to multiples of it; on a weak unit rows as well.
    Raises TypeError and ValueError for other operands.
    """
    left, right = product_operands(unit, a, b)
    s, (n, k), p = unit.s, left.shape, right.shape[1]
    depth, width = multiple(k, s), multiple(p, s)
    left = padded(unit, left, multiple(n, s) if unit.weak else max(n, s), depth)
    right = padded(unit, right, depth, width)
    c = np.empty((left.shape[0], width), unit.words.dtype)
    for j in range(width // s):
        strip = c[:, j * s : (j + 1) * s]
        for i in range(depth // s):
            made = stream(unit, left[:, i * s : (i + 1) * s], block(right, i, j, s))
            strip[...] = add(unit, strip, made) if i else made
    return c[:n, :p]
