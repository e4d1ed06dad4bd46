"""Bounds the rounding errors of a polynomial's values in floats."""

from __future__ import annotations

import math

import numpy as np

from ..dense.rounding import gamma
from ..words import Array
from ..words.floats import Floats

__all__ = ["polyval_error"]


def polyval_error(coefficients: Array, points: Array, s: int, words: Floats) -> Array:
    """Bound of the error of `polyval` at every point: ``sum(gamma(k + s + D) |a_k| |x|^k)``,
    D = ceil(d / s).

    The term of power k = i + j s meets i - 1 roundings of the power i, s of the unit's sum, j s - 1
    of the power j s, one of the product with it, and D - 1 of the weighted sum. A product of
    complex words counts as sqrt(2) gamma(2). Underflow is covered, by the smallest number for each
    product; overflow is not.
    """
    a, x = (np.abs(given).astype(np.float64) for given in (coefficients, points))
    d = len(a)
    each = math.sqrt(2) * gamma(2, words) if words.dtype.kind == "c" else words.roundoff
    errors = (np.arange(d) + s + -(-d // s)) * each
    smallest = float(np.finfo(words.dtype).smallest_subnormal)
    with np.errstate(all="ignore"):
        rounded = _horner(a * errors / (1 - errors), x)
        small = 8 * smallest * d * _horner(a + 1, np.maximum(x, 1))
        # A little more, as the bound itself is computed in floats.
        return np.asarray((rounded + small) * (1 + 1e-9))


def _horner(a: Array, x: Array) -> Array:
    found = np.zeros_like(x)
    for one in a[::-1]:
        found = found * x + one
    return found
