"""Sums of words that go to the same places, without wrap-around."""

from __future__ import annotations

import numpy as np

from ..words import Array, Words
from ..words.exact_products import largest

__all__ = ["summed"]


def summed(words: Words, size: int, places: Array, values: Array) -> Array:
    """``size`` words: at each place the sum of the values that go there, else zero.

    Raises a WordOverflow for integers that do not fit.
    """
    if words.dtype.kind != "i":
        found = np.zeros(size, words.dtype)
        np.add.at(found, places, values)
        return found
    wide = largest(values) * len(values) >> 63
    total = np.zeros(size, object if wide else np.int64)
    np.add.at(total, places, values.astype(object) if wide else values)
    return words.array(total)
