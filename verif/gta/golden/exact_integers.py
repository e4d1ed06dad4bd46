"""Patterns of integers as Python's own, and back: nothing of them is lost in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def signed(patterns: Array, bits: int) -> Array:
    """The integers of patterns, as objects."""
    whole = patterns.astype(object)
    return whole - (whole >> (bits - 1)) * (1 << bits)


def wrapped(integers: Array, bits: int) -> Array:
    """Patterns of integers modulo ``2**bits``."""
    return (integers % (1 << bits)).astype(np.uint64)


def clamped(integers: Array, bits: int) -> Array:
    """Patterns of the nearest integers of so many bits."""
    highest = (1 << (bits - 1)) - 1
    return wrapped(np.minimum(np.maximum(integers, -highest - 1), highest), bits)


def words(integers: Array) -> Array:
    """Splits integers modulo ``2**128`` into two words, the low one first."""
    return np.stack([wrapped(integers, 64), wrapped(integers >> 64, 64)], axis=-1)


def integer_matrices(bits: int, count: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Patterns of factors of products with ``count`` elements in all: whole range, ends of the
    range, small numbers; a depth of 1 among them."""
    rng = np.random.default_rng(seed)
    half = 1 << (bits - 1)
    ends = np.array([half, half + 1, 2 * half - 1, 0, 1, half - 2, half - 1], np.uint64)

    def matrix(shape: tuple[int, int]) -> Array:
        chosen = rng.integers(0, 3)
        if chosen == 0:
            return rng.choice(ends, shape)
        low, high = (0, 2 * half - 1) if chosen == 1 else (0, 7)
        return rng.integers(low, high, shape, dtype=np.uint64, endpoint=True)

    done = 0
    while done < count:
        rows, depth, cols = (int(rng.integers(1, most)) for most in (100, 9, 100))
        yield matrix((rows, depth)), matrix((depth, cols))
        done += rows * cols
