"""Patterns of integers as Python's own, and back: nothing of them is lost in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.gta import LIMB_BITS
from tilewright.sim.gta.limbs import _MASK, Exact, _held, limbs_of, partial_sums


def product_by_limbs(
    format: str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    depth: int,
    partial_bits: int,
    result_bits: int,
) -> Exact:
    """``A B`` modulo ``2**result_bits``, (M, N), as the array puts it together: right if no sum is
    longer than ``partial_bits``, or if these are as many as ``result_bits``.

    Parameters
    ----------
    format: of integers
    a, b: patterns of the format, (M, K) and (K, N)
    depth: products that an accumulator sums: in OS, where sums stay in their elements, the K of a
        segment; in WS, where they pass down a column, the rows of a region. What comes of each is
        added to the results of those before it.
    """
    left, right = np.asarray(a), np.asarray(b)
    results: Any = np.zeros((left.shape[0], right.shape[1]), object)
    for k in range(0, left.shape[1], depth):
        sums = partial_sums(format, left[:, k : k + depth], right[k : k + depth], partial_bits)
        results = (results + _joined(sums.astype(object), result_bits)) % (1 << result_bits)
    return results  # type: ignore[no-any-return]


def element_serial(format: str, a: npt.ArrayLike, b: npt.ArrayLike, partial_bits: int) -> Exact:
    """Exact products of two vectors, of integers or of significands: one element works through
    the products of the limbs of a pair, by diagonals.

    With the first product of each further diagonal the low byte of the sum is done: it goes to the
    second rank, and the rest of the sum moves down.
    """
    x, y = limbs_of(format, a), limbs_of(format, b)
    count = x.shape[-1]
    total = np.zeros(x.shape[:-1], np.int64)
    low = total.astype(object)
    for diagonal in range(2 * count - 1):
        if diagonal:
            low = low + ((total & _MASK).astype(object) << (LIMB_BITS * (diagonal - 1)))
            total = total >> LIMB_BITS
        for i in range(max(0, diagonal - count + 1), min(diagonal, count - 1) + 1):
            total = _held(total + x[..., i] * y[..., diagonal - i], partial_bits)
    return low + (total.astype(object) << (LIMB_BITS * (2 * count - 2)))


def _joined(sums: Exact, result_bits: int) -> Exact:
    """The accumulators below a group of L columns: pairs of columns, of pairs, of fours; then
    Horner's rule over the limbs of A, the highest first."""
    shift = LIMB_BITS
    while sums.shape[-1] > 1:
        sums = sums[..., 0::2] + (sums[..., 1::2] << shift)
        shift *= 2
    total: Any = 0
    for i in reversed(range(sums.shape[1])):
        total = ((total << LIMB_BITS) + sums[:, i, :, 0]) % (1 << result_bits)
    return total  # type: ignore[no-any-return]


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
