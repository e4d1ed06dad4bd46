"""Theorem 4: A = L U in blocks of the unit's side; what is left of A is updated by tall calls."""

from __future__ import annotations

import numpy as np

from ..blocks import multiple
from ..elementwise import divide, multiply, subtract
from ..streaming import stream
from ..tensor_unit import TensorUnit, require
from ..words import Array
from ..words.floats import Floats
from .pivots import check_pivot, pivot_limits
from .substitution import divide_by_lower, divide_upper_from_right

__all__ = ["eliminate"]


def eliminate(unit: TensorUnit, a: Array) -> Array:
    """L and U of ``a = L U`` in one matrix: L below the diagonal, without its ones, U above.

    No rows are exchanged: right for matrices that are diagonally dominant, or symmetric and
    positive definite. q (q - 1) / 2 calls, q = ceil(n / s): those of step k have (q - k) s rows. A
    side that s does not divide is padded by a diagonal of ones. Words must divide.

    Raises TypeError and ValueError for other words and for what is no square matrix of finite
    numbers, a PivotError, which has the row, for a pivot that is zero or tiny.
    """
    require(unit, "eliminate", subtraction=True, division=True)
    x = _matrix(unit, a)
    s, n = unit.s, len(x)
    limits = pivot_limits(unit, x)
    wide = multiple(n, s)
    left = np.full((wide, wide), unit.words.zero, unit.words.dtype)
    left[:n, :n] = x
    left[range(n, wide), range(n, wide)] = unit.words.one
    unit.cpu(moves=left.size)
    for k in range(0, wide, s):
        here, after = slice(k, k + s), slice(k + s, wide)
        _factor(unit, left[here, here], k, limits)
        divide_by_lower(unit, left[here, here], left[here, after])
        divide_upper_from_right(unit, left[here, here], left[after, here])
        for j in range(k + s, wide, s):
            there = slice(j, j + s)
            made = stream(unit, left[after, here], left[here, there])
            left[after, there] = subtract(unit, left[after, there], made)
    return left[:n, :n]


def _factor(unit: TensorUnit, x: Array, first: int, limits: Array) -> None:
    """A block on the diagonal, in place, from row ``first`` on, by the CPU."""
    for i in range(len(x)):
        check_pivot(unit, x[i, i], first + i, limits)
        below = slice(i + 1, None)
        x[below, i] = divide(unit, x[below, i], x[i, i])
        taken = multiply(unit, x[below, i, None], x[i, below])
        x[below, below] = subtract(unit, x[below, below], taken)


def _matrix(unit: TensorUnit, a: Array) -> Array:
    x = unit.words.array(a)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or not x.size:
        raise ValueError(f"`a` must be a square matrix, not of shape {x.shape}")
    if isinstance(unit.words, Floats) and not np.isfinite(x).all():
        raise ValueError("`a` must hold finite numbers, not nan or inf")
    return x
