"""Bounds the errors of L U against A, and of A x against b, in floats; measures element growth.

Source: Higham, "Accuracy and stability of numerical algorithms", theorems 9.3 and 9.4, which hold
in any order of sums, that of blocks among them. Quotients and products that underflow are off by
half the smallest subnormal at most, quotients times the pivot; overflow is not covered.
"""

from __future__ import annotations

import math

import numpy as np

from ..dense.rounding import gamma, smallest
from ..words import Array
from ..words.floats import Floats

__all__ = ["factors_error", "growth", "lower", "residual_error", "upper"]


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
