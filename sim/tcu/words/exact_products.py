"""Products of integer matrices without error, in the fastest arithmetic that bounds allow."""

from __future__ import annotations

import numpy as np

from .kind import Array

__all__ = ["exact_product", "largest"]

_FLOAT64_HOLDS = 1 << 53
_INT64_HOLDS = 1 << 63


def largest(x: Array) -> int:
    """The largest magnitude in an array of integers; 0 of none."""
    given = np.asarray(x)
    return max(abs(int(given.max())), abs(int(given.min()))) if given.size else 0


def exact_product(a: Array, b: Array) -> Array:
    """The product of matrices of int64: int64, or Python's integers (dtype object) if it might
    not fit.

    Bounds are of the sums of magnitudes, which no partial sum exceeds in any order.
    """
    bound = largest(a) * largest(b) * a.shape[1]
    if bound < _FLOAT64_HOLDS:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    if bound < _INT64_HOLDS:
        return np.asarray(a @ b)
    return np.asarray(a.astype(object) @ b.astype(object))
