"""Theorem 1: Strassen-like recursion that ends when a block fits the unit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..formulas.dense import levels
from ..tensor_unit import TensorUnit, add, block, padded, require, subtract
from ..words import Array
from .bilinear import STANDARD, STRASSEN, Bilinear, Sum


def product_operands(unit: TensorUnit, a: Array, b: Array) -> tuple[Array, Array]:
    """``a`` and ``b`` as words: matrices (n, k) and (k, p), none of the three 0.

    Raises TypeError for what are no words of the unit, ValueError for other shapes.
    """
    left, right = unit.words.array(a), unit.words.array(b)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(
            "`a` and `b` must be matrices (n, k) and (k, p), not of shapes "
            f"{left.shape} and {right.shape}"
        )
    if not left.size or not right.size:
        raise ValueError(
            f"`a` and `b` must not be empty, as of shapes {left.shape} and {right.shape}"
        )
    return left, right


def square_operands(unit: TensorUnit, a: Array, b: Array) -> tuple[Array, Array]:
    """Checks the operands of a product of square matrices."""
    left, right = product_operands(unit, a, b)
    if not left.shape == right.shape == (left.shape[0],) * 2:
        raise ValueError(
            f"`a` and `b` must be square, not of shapes {left.shape} and {right.shape}"
        )
    return left, right


def recursive(unit: TensorUnit, scheme: Bilinear, a: Array, b: Array) -> Array:
    """``a b`` of square matrices of one side n, by ``scheme`` down to blocks of the unit's side.

    ``p0**h`` calls of s rows, where ``h`` is the least with ``s * side**h >= n``; padded to that
    first (the paper assumes powers). CPU: ``scheme.additions`` blocks a product and level.

    Raises TypeError and ValueError for other operands, and for words that do not subtract if the
    scheme does.
    """
    require(unit, scheme.name, subtraction=scheme.subtracts)
    left, right = square_operands(unit, a, b)
    n = left.shape[0]
    side = unit.s * scheme.side ** levels(n, unit.s, scheme.side)
    left, right = (padded(unit, one, side, side) for one in (left, right))
    return _product(unit, scheme, left, right)[:n, :n]


def standard(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b`` by the standard recursion, (p0, n0) = (8, 4): any words; else as `recursive`."""
    return recursive(unit, STANDARD, a, b)


def strassen(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b`` by Strassen's recursion in Winograd's form, (p0, n0) = (7, 4); as `recursive`."""
    return recursive(unit, STRASSEN, a, b)


def _product(unit: TensorUnit, scheme: Bilinear, a: Array, b: Array) -> Array:
    n, s = a.shape[0], unit.s
    if n == s:
        return unit.multiply(a, b)
    half = n // scheme.side
    sums, products, results = scheme.steps
    of: dict[str, Array] = {}
    for place in scheme.places:
        i, j = int(place[0]) - 1, int(place[1]) - 1
        of[f"A{place}"], of[f"B{place}"] = block(a, i, j, half), block(b, i, j, half)
    for one in sums:
        of[one.target] = _sum(unit, one, of)
    for product in products:
        of[product.target] = _product(unit, scheme, of[product.left], of[product.right])
    for one in results:
        of[one.target] = _sum(unit, one, of)
    c = np.empty_like(a, order="C")
    for place in scheme.places:
        # Not charged: the last addition writes here, and what is no sum was charged as a copy.
        block(c, int(place[0]) - 1, int(place[1]) - 1, half)[...] = of[f"C{place}"]
    return c


def _sum(unit: TensorUnit, one: Sum, of: Mapping[str, Array]) -> Array:
    (sign, first), *rest = one.terms
    total = of[first]
    if sign < 0:
        total = subtract(unit, np.full_like(total, unit.words.zero), total)
    elif not rest:
        unit.cpu(moves=total.size)
    for sign, name in rest:
        total = (add if sign > 0 else subtract)(unit, total, of[name])
    return total
