"""Bounds the errors of stencils of floats against direct sweeps without rounding.

Norms and errors in the 2-norm follow the statements; what rounding does to a transform is
`transform_error`. Sums of magnitudes bound the largest frequencies. Underflow has its own bounds;
overflow is not covered.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..dense.rounding import smallest
from ..formulas.lengths import fast_length
from ..formulas.stencils import squarings
from ..transform.rounding import (
    product_rounding,
    sum_rounding,
    transform_error,
    transform_underflow,
)
from ..words.floats import Floats

__all__ = ["stencil_error", "stencil_underflow", "sweeps_error", "sweeps_underflow"]


class _Bound(NamedTuple):
    """Bounds of a plane: the sum of its magnitudes, its 2-norm, the 2-norm of its error."""

    total: float
    norm: float
    error: float


def stencil_error(total: float, k: int, s: int, words: Floats) -> float:
    """Bound of every cell's error in `stencil`, in units of the grid's largest cell.

    Parameters
    ----------
    total: sum of the magnitudes of the weights
    k, s: sweeps; side of the unit
    """
    weights, one_sweep = _Bound(total, total, 0.0), _Bound(total, total, 0.0)
    for reached, product in squarings(k):
        weights = _convolved(4 * reached + 1, s, words, weights, weights)
        # A result's magnitudes sum to the product of the sums, its norm is no larger.
        weights = weights._replace(norm=weights.total)
        if product:
            error = total * weights.error
            error += sum_rounding(9, words) * total * (weights.norm + weights.error)
            grown = weights.total * one_sweep.total
            weights = _Bound(grown, grown, error)
    # On real words a plane holds two blocks.
    blocks = math.sqrt(1 if words.dtype.kind == "c" else 2)
    cells = _Bound(blocks * 9 * k * k, blocks * 3 * k, 0.0)
    return _convolved(3 * k, s, words, cells, weights).error


def sweeps_error(total: float, k: int, words: Floats) -> float:
    """Bounds the error of ``k`` direct sweeps in the words: sums of nine products, one by one."""
    return math.expm1(k * math.log1p(sum_rounding(9, words))) * total**k


def stencil_underflow(total: float, k: int, s: int, words: Floats, largest: float) -> float:
    """Bounds what underflow adds to `stencil_error` times the ``largest`` magnitude of a cell."""
    weights, lost, swept = total, 0.0, total
    for reached, product in squarings(k):
        lost = _lost(4 * reached + 1, s, words, weights, weights, lost) + weights * lost
        weights = weights * weights
        if product:
            lost = total * lost + 18 * smallest(words)
            weights *= swept
    cells = 9 * k * k * largest * (1 if words.dtype.kind == "c" else 2)
    return _lost(3 * k, s, words, cells, weights, lost)


def sweeps_underflow(total: float, k: int, words: Floats) -> float:
    """Bounds the underflow of direct sweeps."""
    return 18 * smallest(words) * k * max(1.0, total) ** k


def _lost(least: int, s: int, words: Floats, x: float, y: float, lost: float) -> float:
    """Bounds the loss of a convolution by underflow, from sums of magnitudes and the earlier loss
    of every element of y. It is doubled for its own rounding."""
    length = fast_length(least, s)
    plane = transform_underflow(length, s, words) * (length + 1)
    return 2 * (plane * (x + y + 1 + plane) + x * (lost + smallest(words)) + 2 * smallest(words))


def _convolved(least: int, s: int, words: Floats, x: _Bound, y: _Bound) -> _Bound:
    """Bounds a convolution in two dimensions by transforms. Norms of frequencies are divided by the
    root of their number, the largest of them are not."""
    length = fast_length(least, s)
    one = math.expm1(2 * math.log1p(transform_error(length, s, words)))
    rounding = product_rounding(words)
    left = x.error + one * (x.norm + x.error)
    right = y.error + one * (y.norm + y.error)
    true = x.norm * y.total
    error = left * (y.total + length * right) + x.total * right
    error += rounding * (true + error)
    error = error * (1 + one) + one * true
    return _Bound(x.total * y.total, true, error)
