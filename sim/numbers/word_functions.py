"""Functions of words, many at once: patterns in, patterns out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat, Format

__all__ = ["through"]

Words = npt.NDArray[np.uint64]


def through(functions: Iterable[str], words: Words, fmt: Format) -> Words:
    """Applies functions to patterns, the first one first, see
    :func:`~tilewright.hw.spec.t2s.functions.function_of`."""
    top, mask = np.uint64(1 << (fmt.bits - 1)), np.uint64((1 << fmt.bits) - 1)
    for name in functions:
        negative = (words & top) != 0
        opposite = words ^ top if isinstance(fmt, FloatFormat) else (np.uint64(0) - words) & mask
        found = {
            "absolute": np.where(negative, opposite, words),
            "negate": opposite,
            "relu": np.where(negative, np.uint64(0), words),
        }[name]
        if isinstance(fmt, FloatFormat):
            # Patterns after infinity, or after the largest number without one, are NaN.
            nan = (words & ~top & mask) > np.uint64(fmt.largest + fmt.has_infinity)
            found = np.where(nan, np.uint64(fmt.nan), found)
        words = found
    return words
