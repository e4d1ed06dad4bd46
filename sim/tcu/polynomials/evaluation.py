"""Theorem 11: a polynomial at many points, by one product with its coefficients as a matrix.

Source: section 3.8 of the paper.
"""

from __future__ import annotations

import numpy as np

from ..formulas.streaming import stream as rows_of
from ..tensor_unit import TensorUnit, add, multiply, stream
from ..words import Array

__all__ = ["polyval"]


def polyval(unit: TensorUnit, coefficients: Array, points: Array) -> Array:
    """``sum(coefficients[k] * x**k)`` for every x of ``points``: ceil(d / m) calls of p rows.

    Parameters
    ----------
    coefficients: (d,), that of power 0 first
    points: (p,); fewer than s are padded to s, and on a weak unit to a multiple of it

    Words must hold the powers below min(s, d), and the multiples of s below d: else integers end
    with a WordOverflow, and floats become infinite. In any semiring.

    CPU: the powers, and a sum of ceil(d / s) results for each point, weighted by multiples of s.
    Raises TypeError for what are no words of the unit, ValueError for other shapes.
    """
    words, s, m = unit.words, unit.s, unit.m
    a, x = words.array(coefficients), words.array(points)
    for name, given in (("coefficients", a), ("points", x)):
        if given.ndim != 1 or not given.size:
            raise ValueError(f"`{name}` must be a vector, not empty, not of shape {given.shape}")
    d, p = len(a), len(x)
    table, power = _powers(unit, x, d)
    if d % m:
        filled = np.full(-(-d // m) * m, words.zero, words.dtype)
        filled[:d] = a
        unit.cpu(moves=filled.size)
        a = filled
    found, weight = np.empty(0, words.dtype), power
    for first in range(0, d, m):
        made = stream(unit, table, a[first : first + m].reshape(s, s).T)[:p]
        for column, start in zip(made.T, range(first, min(first + m, d), s), strict=False):
            if not start:
                found = column
                continue
            if start > s:
                weight = multiply(unit, weight, power)
            found = add(unit, found, multiply(unit, column, weight))
    return found.copy()


def _powers(unit: TensorUnit, x: Array, d: int) -> tuple[Array, Array]:
    """The powers of points below s and ``d`` as rows, padded to what a call takes; the power s,
    if ``d`` is above."""
    words, s, p = unit.words, unit.s, len(x)
    table = np.full((rows_of(p, s, unit.weak).rows, s), words.zero, words.dtype)
    table[:p, 0] = words.one
    if min(s, d) > 1:
        table[:p, 1] = x
    for i in range(2, min(s, d)):
        table[:p, i] = multiply(unit, table[:p, i - 1], x)
    unit.cpu(moves=table.size - max(min(s, d) - 2, 0) * p)
    if d <= s or s == 1:
        return table, x
    return table, multiply(unit, table[:p, s - 1], x)
