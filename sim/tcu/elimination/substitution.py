"""Triangular systems by the CPU, a column of the triangle at a time.

Triangles lie in place, as elimination leaves them: L below the diagonal, its ones not stored, and
U from the diagonal on.
"""

from __future__ import annotations

from ..tensor_unit import TensorUnit, divide, multiply, subtract
from ..words import Array

__all__ = ["divide_by_lower", "divide_by_upper", "divide_upper_from_right", "solve"]


def divide_by_lower(unit: TensorUnit, triangles: Array, x: Array) -> None:
    """``x <- L^-1 x``, x (n, r): n (n - 1) / 2 products and subtractions a column of x."""
    for i in range(len(triangles)):
        _take(unit, x[i + 1 :], triangles[i + 1 :, i, None], x[i])


def divide_by_upper(unit: TensorUnit, triangles: Array, x: Array) -> None:
    """``x <- U^-1 x``: as many, and n divisions a column of x."""
    for i in reversed(range(len(triangles))):
        x[i] = divide(unit, x[i], triangles[i, i])
        _take(unit, x[:i], triangles[:i, i, None], x[i])


def divide_upper_from_right(unit: TensorUnit, triangles: Array, x: Array) -> None:
    """``x <- x U^-1``, x (r, n): the same a row of x."""
    for i in range(len(triangles)):
        x[:, i] = divide(unit, x[:, i], triangles[i, i])
        _take(unit, x[:, i + 1 :], x[:, i, None], triangles[i, i + 1 :])


def _take(unit: TensorUnit, x: Array, column: Array, row: Array) -> None:
    """``x <- x - column row``."""
    x[...] = subtract(unit, x, multiply(unit, column, row))


def solve(unit: TensorUnit, triangles: Array, b: Array) -> Array:
    """The x of ``L U x = b``, b (n,) or (n, r), L and U from `eliminate`.

    CPU, a column of b: n (n - 1) products and subtractions, n divisions, n moves. Raises TypeError
    for what are no words of the unit, ValueError for other shapes.
    """
    right = unit.words.array(b)
    n = len(triangles)
    if right.ndim not in (1, 2) or right.shape[0] != n or not right.size:
        raise ValueError(f"`b` must be of shape ({n},) or ({n}, r), not {right.shape}")
    x = right.reshape(n, -1).copy()
    unit.cpu(moves=x.size)
    divide_by_lower(unit, triangles, x)
    divide_by_upper(unit, triangles, x)
    return x.reshape(right.shape)
