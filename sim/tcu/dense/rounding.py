"""Bounds the rounding errors of products of floats.

``u`` is the roundoff of the words; ``gamma(k) = k u / (1 - k u)`` bounds what k roundings in a row
do (Higham, "Accuracy and stability of numerical algorithms", chapter 3). A product that underflows
is off by half the smallest subnormal at most; sums do not underflow. Overflow is not covered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..formulas.dense import Squares, levels
from ..words import Array
from ..words.floats import Floats
from .bilinear import Bilinear, Sum

__all__ = [
    "gamma",
    "in_squares_error",
    "in_squares_underflow",
    "product_error",
    "product_underflow",
    "recursive_error",
    "recursive_underflow",
    "smallest",
]


def gamma(roundings: int, words: Floats) -> float:
    """``k u / (1 - k u)``."""
    error = roundings * words.roundoff
    return error / (1 - error)


def smallest(words: Floats) -> float:
    """The smallest subnormal, of complex words of a part."""
    return float(np.finfo(words.dtype).smallest_subnormal)


def product_underflow(depth: int, words: Floats) -> float:
    """Bounds the loss by underflow of a sum of ``depth`` products. It is doubled for complex words,
    which have twice as many real products."""
    return depth * smallest(words) * (2 if words.dtype.kind == "c" else 1)


def product_error(a: Array, b: Array, words: Floats) -> Array:
    """Bound of each element's error in ``a b`` if products are summed in any order: ``gamma(k)
    |a| |b|``; of complex words ``sqrt(2) gamma(2 k)`` (each part is a sum of 2 k products).
    Underflow is in it."""
    factor = _product_factor(a.shape[1], words)
    # A little more, as the bound itself is computed in floats.
    sizes = np.abs(a).astype(float) @ np.abs(b).astype(float)
    return np.asarray(sizes * factor * (1 + 1e-9) + product_underflow(a.shape[1], words))


def _product_factor(depth: int, words: Floats) -> float:
    if words.dtype.kind == "c":
        return math.sqrt(2) * gamma(2 * depth, words)
    return gamma(depth, words)


class _Bound(NamedTuple):
    """Largest element of a block and its error, in units of the operands' largest elements."""

    size: float
    error: float


def recursive_error(scheme: Bilinear, n: int, s: int, words: Floats) -> float:
    """Bound of the error of `recursive` on matrices of side ``n``, in units of the product of the
    largest elements of both (largest magnitudes, of complex words): the statements followed with
    bounds in place of blocks.
    """
    error = s * _product_factor(s, words)
    for level in range(levels(n, s, scheme.side)):
        error = _a_level(scheme, s * scheme.side**level, error, words.roundoff)
    return error


def recursive_underflow(scheme: Bilinear, n: int, s: int, words: Floats) -> float:
    """Bounds the error of underflow, which is added to `recursive_error` and absolute: that of
    products of the unit, and of sums of them."""
    error = product_underflow(s, words)
    _, products, results = scheme.steps
    for _ in range(levels(n, s, scheme.side)):
        of = {product.target: _Bound(0.0, error) for product in products}
        for one in results:
            of[one.target] = _added(one, of, words.roundoff)
        error = max(of[f"C{place}"].error for place in scheme.places)
    return error


def in_squares_error(scheme: Bilinear, cut: Squares, s: int, words: Floats) -> float:
    """`recursive_error` of products in squares, whose sums along k are rounded, too."""
    error = recursive_error(scheme, cut.side, s, words)
    return cut.deep * (error + gamma(cut.deep - 1, words) * (cut.side + error))


def in_squares_underflow(scheme: Bilinear, cut: Squares, s: int, words: Floats) -> float:
    """`recursive_underflow` of products in squares."""
    lost = recursive_underflow(scheme, cut.side, s, words)
    return cut.deep * lost * (1 + gamma(cut.deep - 1, words))


def _a_level(scheme: Bilinear, depth: int, error: float, u: float) -> float:
    """Error of one level more than a product of ``depth`` columns with ``error``."""
    sums, products, results = scheme.steps
    of = {f"{matrix}{place}": _Bound(1.0, 0.0) for matrix in "AB" for place in scheme.places}
    for one in sums:
        of[one.target] = _added(one, of, u)
    for product in products:
        x, y = of[product.left], of[product.right]
        computed = (x.size + x.error) * (y.size + y.error)
        carried = depth * (x.error * y.size + x.size * y.error + x.error * y.error)
        of[product.target] = _Bound(depth * x.size * y.size, error * computed + carried)
    for one in results:
        of[one.target] = _added(one, of, u)
    return max(of[f"C{place}"].error for place in scheme.places)


def _added(one: Sum, of: Mapping[str, _Bound], u: float) -> _Bound:
    size, error = of[one.terms[0][1]]
    for _, name in one.terms[1:]:
        size, error = size + of[name].size, error + of[name].error
        error += u * (size + error)
    return _Bound(size, error)
