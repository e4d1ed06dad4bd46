"""Theorem 2 and Corollary 1: every block of B is loaded once, and all rows of A go past it; or of
A, and all columns of B, if A has fewer."""

from __future__ import annotations

import numpy as np

from ..formulas.dense import squares, transposes
from ..tensor_unit import TensorUnit, add, block, multiple, padded, require, stream
from ..words import Array
from .bilinear import Bilinear
from .recursive import product_operands, recursive, square_operands


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
