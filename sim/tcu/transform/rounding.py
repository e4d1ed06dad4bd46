"""Bounds the rounding errors of transforms of floats, in the 2-norm.

Bounds are relative to the norm of the true result, which is sqrt(n) times that of the signal. Each
level is a product with a matrix whose magnitudes are ones and whose 2-norm is sqrt(factor): an
error of every element by gamma times the sum of magnitudes becomes sqrt(factor) gamma (Higham,
"Accuracy and stability of numerical algorithms", chapters 3 and 24). Underflow has a bound of its
own; overflow is not covered.
"""

from __future__ import annotations

import math

from ..dense.rounding import gamma, smallest
from ..formulas.transform import chirp_length, radices
from ..words.floats import Floats

__all__ = [
    "product_rounding",
    "sum_rounding",
    "table_error",
    "transform_error",
    "transform_underflow",
]


def table_error(words: Floats) -> float:
    """Error of roots of unity, divided or not: computed in float64, then rounded to words."""
    return 2 * words.roundoff + 8 * 2.0**-53


def product_rounding(words: Floats) -> float:
    """Relative error of a product of two complex numbers."""
    return math.sqrt(2) * gamma(2, words)


def sum_rounding(terms: int, words: Floats) -> float:
    """Error of a sum of so many products of complex numbers, relative to that of magnitudes: each
    part is a sum of twice as many, whether one call makes it, or two and the CPU."""
    return math.sqrt(2) * gamma(2 * terms, words)


def transform_error(n: int, s: int, words: Floats) -> float:
    """Bound of ``norm(computed - true) / norm(true)`` of a transform of ``n`` numbers, or of its
    inverse, on a unit of side ``s``."""
    factors = radices(n, s)
    if factors is None:
        return _chirp_error(n, s, words)
    table = table_error(words)
    grown = 0.0
    for level, factor in enumerate(factors):
        summed = sum_rounding(factor, words) * (1 + table) + table
        grown += math.log1p(math.sqrt(factor) * summed)
        if level:
            grown += math.log1p(product_rounding(words)) + math.log1p(table)
    return math.expm1(grown)


def transform_underflow(n: int, s: int, words: Floats) -> float:
    """Bounds the absolute error that underflow adds to each number of a transform, doubled for its
    own rounding. An error of every number is summed ``factor`` times on each level."""
    factors, least = radices(n, s), smallest(words)
    if factors is not None:
        lost = 0.0
        for factor in factors:
            lost = factor * (lost + 2 * least) + 2 * factor * least
        return 2 * lost
    length = chirp_length(n, s)
    one = transform_underflow(length, s, words)
    # Times the chirp, transformed, times the chirp's frequencies, and back.
    lost = (2 * least * length + one) * 2 * n + 2 * least
    return 2 * (lost + one + 2 * least)


def _chirp_error(n: int, s: int, words: Floats) -> float:
    """Bounds the error of Bluestein's convolution for a signal of norm 1. Sums of magnitudes bound
    the largest frequencies, sqrt(n) of the signal's and 2 n - 1 of the chirp's. Norms of
    frequencies are divided by the square root of the length."""
    length = chirp_length(n, s)
    one, table = transform_error(length, s, words), table_error(words)
    rounding = product_rounding(words)
    turned = (1 + rounding) * (1 + table) - 1
    signal = (1 + turned) * (1 + one) - 1
    chirp = math.sqrt(2 * n - 1) * ((1 + table) * (1 + one) - 1)
    largest, true = 2 * n - 1, 2 * n - 1.0
    error = signal * (largest + math.sqrt(length) * chirp) + math.sqrt(n) * chirp
    error += rounding * (true + error)
    error = error * (1 + one) + one * true
    error = error * (1 + turned) + turned * math.sqrt(n)
    return error / math.sqrt(n)
