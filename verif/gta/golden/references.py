"""Patterns of integers as Python's own, and back: nothing of them is lost in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.hw.spec.gta import LIMB_BITS
from tilewright.sim.gta.limbs import _MASK, Exact, _held, limbs_of, partial_sums
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.dot_product import as_fp32

FLOATS = ("bf16", "fp16", "fp32", "fp64")

_LONGEST = 64
_DEEPEST = 6


def result_format(format: str) -> FloatFormat:
    """Returns the format in which products of a format are summed."""
    return FLOAT_FORMATS["fp64" if format == "fp64" else "fp32"]


def factors(a: Array, b: Array) -> tuple[Array, Array]:
    """The factors of each element of a product, (M * N, K)."""
    rows, depth, cols = *a.shape, b.shape[1]
    left = np.broadcast_to(a[:, np.newaxis], (rows, cols, depth)).reshape(-1, depth)
    return left, np.broadcast_to(b.T, (rows, cols, depth)).reshape(-1, depth)


def softfloat_product(format: str, a: Array, b: Array, c: Array) -> Array:
    """``C + A B`` in ascending k, the operands widened to the sum's format."""
    fmt = result_format(format)
    if format != fmt.name:
        a, b = as_fp32(a, FLOAT_FORMATS[format]), as_fp32(b, FLOAT_FORMATS[format])
    left, right = factors(a, b)
    total = c.ravel()
    for k in range(a.shape[1]):
        total = softfloat.multiply_add(left[:, k], right[:, k], total, fmt)
    return total.reshape(c.shape)


def float_matrices(format: str, count: int, seed: int) -> Iterator[tuple[Array, Array, Array]]:
    """Patterns of A, B and C of products with ``count`` elements in all.

    Kinds of values in turn, now and then a special one among them; of every other product C is a
    few last places away from cancelling A B, or one of its partial sums.
    """
    rng = np.random.default_rng(seed)
    operand, fmt = FLOAT_FORMATS[format], result_format(format)
    done, turn = 0, 0
    while done < count:
        kind = stimuli.VALUE_KINDS[turn // 2 % len(stimuli.VALUE_KINDS)]
        rows, cols = (int(rng.integers(1, _LONGEST)) for _ in range(2))
        depth = int(rng.integers(1, _DEEPEST))
        a = _mixed(rng, stimuli.values(rng, kind, (rows, depth), operand), operand)
        b = _mixed(rng, stimuli.values(rng, kind, (depth, cols), operand), operand)
        if turn % 2:
            c = _opposite(rng, a, b, operand, fmt)
        else:
            c = stimuli.values(rng, kind, (rows, cols), fmt)
        yield a, b, c
        done, turn = done + rows * cols, turn + 1


def _mixed(rng: np.random.Generator, values: Array, fmt: FloatFormat) -> Array:
    """Special values in one place of thirty."""
    special = rng.choice(stimuli.special_values(fmt), values.shape)
    return np.where(rng.random(values.shape) < 1 / 30, special, values)


def _opposite(
    rng: np.random.Generator, a: Array, b: Array, operand: FloatFormat, fmt: FloatFormat
) -> Array:
    """Patterns close to minus the sum of some of the first products."""
    depth = int(rng.integers(1, a.shape[1] + 1))
    with np.errstate(all="ignore"):
        x, y = _float64(a[:, :depth], operand), _float64(b[:depth], operand)
        total = -(x[:, :, np.newaxis] * y).sum(axis=1)
        narrow: Any = total if fmt.name == "fp64" else total.astype(np.float32)
    word = narrow.view(f"u{fmt.bits // 8}").astype(np.uint64)
    return word ^ rng.integers(0, 4, word.shape, dtype=np.uint64)


def _float64(patterns: Array, fmt: FloatFormat) -> Array:
    if fmt.name == "fp64":
        return patterns.view(np.float64)
    return as_fp32(patterns, fmt).astype(np.uint32).view(np.float32).astype(np.float64)


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
