"""Theorem 2 and Corollary 1: every block of B is loaded once, and all rows of A go past it; or of
A, and all columns of B, if A has fewer."""

from __future__ import annotations

import numpy as np

from ..blocks import block, multiple, padded
from ..elementwise import add
from ..formulas.dense import transposes
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
    """``a b`` of matrices (n, k) and (k, p): ceil(k / s) ceil(p / s) calls of n rows, or, as
    ``b^T a^T``, ceil(k / s) ceil(n / s) calls of p rows if those are fewer calls.

    Fewer than s rows are padded to s, columns to multiples of it; on a weak unit rows as well.
    Transposed operands are read where they lie. Raises TypeError and ValueError for other
    operands.
    """
    left, right = product_operands(unit, a, b)
    (n, k), p = left.shape, right.shape[1]
    if transposes(n, k, p, unit.s, unit.weak):
        return _product(unit, right.T, left.T).T
    return _product(unit, left, right)


def _product(unit: TensorUnit, left: Array, right: Array) -> Array:
    """A call for each block of ``right``."""
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
