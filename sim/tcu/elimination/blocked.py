"""Theorem 4: A = L U in blocks of the unit's side; what is left of A is updated by tall calls."""

from __future__ import annotations

import math

import numpy as np

from ..dense.rounding import gamma, smallest
from ..tensor_unit import TensorUnit, divide, multiple, multiply, require, stream, subtract
from ..words import Array
from ..words.floats import Floats
from .substitution import divide_by_lower, divide_upper_from_right

# Bounds the errors of L U against A, and of A x against b, in floats; measures element growth.
#
# Source: Higham, "Accuracy and stability of numerical algorithms", theorems 9.3 and 9.4, which
# hold in any order of sums, that of blocks among them. Quotients and products that underflow are
# off by half the smallest subnormal at most, quotients times the pivot; overflow is not covered.


def lower(triangles: Array) -> Array:
    """L of what `eliminate` gives, its ones included."""
    ones = np.eye(len(triangles), dtype=triangles.dtype)
    return np.asarray(np.tril(triangles, -1) + ones)


def upper(triangles: Array) -> Array:
    """U of it."""
    return np.asarray(np.triu(triangles))


def growth(a: Array, triangles: Array) -> float:
    """The largest magnitude in U beside that in A: what the bounds grow by. It is at most 2 if
    columns are diagonally dominant, 1 if A is symmetric and positive definite."""
    return float(np.abs(upper(triangles)).max() / np.abs(a).max())


def factors_error(triangles: Array, words: Floats) -> Array:
    """Bound of each element of ``|A - L U|``: ``gamma(n) |L| |U|``, and underflow."""
    bound = _magnitudes(triangles) * _roundings(len(triangles), words)
    return np.asarray(bound + _underflow(triangles, words))


def residual_error(triangles: Array, x: Array, words: Floats) -> Array:
    """Bound of ``|b - A x|`` of what `solve` gives: ``gamma(3 n) |L| |U| |x|``, and underflow, of
    both triangles' and that of L U."""
    size, lost = np.abs(x).astype(float), _underflow(triangles, words)
    bound = _magnitudes(triangles) @ size * _roundings(3 * len(triangles), words)
    solved = lost.min() + np.abs(lower(triangles)).astype(float) @ lost
    of_x = np.broadcast_to(lost, triangles.shape) @ size
    return np.asarray(bound + (solved if size.ndim == 1 else solved[:, None]) + of_x)


def _underflow(triangles: Array, words: Floats) -> Array:
    """Bounds the underflow of sums of n products that are divided by the pivot of each column."""
    parts = 16 if words.dtype.kind == "c" else 1
    pivots = np.abs(triangles.diagonal()).astype(float)
    return np.asarray((len(triangles) + pivots) * smallest(words) * parts)


def _magnitudes(triangles: Array) -> Array:
    # A little more, as the bound itself is computed in floats.
    sizes = [np.abs(part(triangles)).astype(float) for part in (lower, upper)]
    return np.asarray(sizes[0] @ sizes[1] * (1 + 1e-9))


def _roundings(count: int, words: Floats) -> float:
    if words.dtype.kind != "c":
        return gamma(count, words)
    # An operator on complex numbers, division by Smith's method being the worst, is one rounding
    # of up to seven real ones in each part.
    error = count * math.sqrt(2) * gamma(7, words)
    return error / (1 - error)


class PivotError(ValueError):
    """A pivot that is zero, or so small that cancellation has left nothing of it.

    Members
    -------
    row: of the pivot, from 0
    """

    def __init__(self, row: int, rows: int, pivot: float, limit: float) -> None:
        wanted = f"above {limit:.3g} in magnitude, not {pivot:.3g}" if limit else "other than 0"
        super().__init__(
            f"the pivot of row {row} (of 0..{rows - 1}) must be {wanted}, as no rows are exchanged"
        )
        self.row = row


def pivot_limits(unit: TensorUnit, a: Array) -> Array:
    """Returns the lower limit of each row's pivot. For n floats it is ``n u`` times the row's
    largest magnitude in A, found by one add per word; for words without rounding it is 0 and costs
    nothing."""
    words = unit.words
    if not isinstance(words, Floats):
        return np.zeros(len(a))
    unit.cpu(adds=a.size)
    return np.asarray(np.abs(a).max(axis=1).astype(float) * (len(a) * words.roundoff))


def check_pivot(unit: TensorUnit, pivot: Array, row: int, limits: Array) -> None:
    """Raise a PivotError unless a pivot is above its limit; rows that are padded have none. An
    add."""
    unit.cpu(adds=1)
    limit = float(limits[row]) if row < len(limits) else 0.0
    if not abs(pivot) > limit:  # NaN is not above anything.
        raise PivotError(row, len(limits), float(abs(pivot)), limit)


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
