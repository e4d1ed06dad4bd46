"""Floats as integers, one power of two for a row or a column: what limbs can be cut of."""

from __future__ import annotations

import numpy as np

from ..words import Array
from ..words.floats import Floats
from .limbs import limbs_of

__all__ = ["as_integers", "from_integers", "split_error"]


def as_integers(x: Array, bits: int, axis: int) -> tuple[Array, Array]:
    """``x`` as integers below ``2**(bits - 1)`` in magnitude, what is below one cut off, and the
    exponents of two that they are to be multiplied by, along ``axis`` one.

    Raises ValueError for numbers that are not finite.
    """
    if not np.isfinite(x).all():
        raise ValueError("floats that are split must be finite, not nan or inf")
    wide = x.astype(np.float64)
    _, above = np.frexp(np.abs(wide).max(axis=axis, keepdims=True))
    exponents = above - (bits - 1)
    return np.trunc(np.ldexp(wide, -exponents)).astype(np.int64), exponents


def from_integers(x: Array, exponents: Array, words: Floats) -> Array:
    """Integers of any size times powers of two, rounded."""
    return np.ldexp(x.astype(np.float64), exponents).astype(words.dtype)


def split_error(a: Array, b: Array, words: Floats, bits: int = 8) -> Array:
    """Bound of each element's error in ``a b`` by limbs: what is cut off of each number, up to
    ``2**(2 - bits L)`` of the largest in its row of ``a`` or column of ``b``, and a rounding.

    It is of the row's and the column's largest magnitudes, not of the products': small numbers
    beside large ones lose what floats would keep. Neither underflow nor overflow is covered.
    """
    left = np.abs(a).max(axis=1, keepdims=True).astype(float)
    right = np.abs(b).max(axis=0, keepdims=True).astype(float)
    lost = 2.0 ** (2 - bits * limbs_of(words, bits))
    cut_off = a.shape[1] * (2 * lost + lost * lost)
    # The sum itself is rounded once, to float64 and to words.
    return np.asarray(left * right * (cut_off + a.shape[1] * 3 * words.roundoff))
