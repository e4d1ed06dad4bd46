"""Golden models of the arithmetic building blocks, for any float format.

All take and give unsigned patterns of ``fmt.bits`` bits, broadcast their arguments, and follow the
project's rules: subnormals count and are produced, round to nearest even, every NaN produced is
the canonical one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat, Format
from .floats import Bools, Ints, round_and_pack, unpack

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


Patterns = npt.NDArray[np.uint64]


class Comparison(NamedTuple):
    """Relations of two values; with a NaN only ``unordered`` holds. The two zeros are equal."""

    less: Bools
    equal: Bools
    unordered: Bools


def round_value(
    negative: npt.ArrayLike,
    magnitude: npt.ArrayLike,
    exponent: npt.ArrayLike,
    sticky: npt.ArrayLike,
    fmt: FloatFormat,
) -> Patterns:
    """Round and pack ``magnitude * 2**exponent``, plus an infinitesimal where ``sticky``.

    ``magnitude`` is below 2**62. The sign is kept where the result is zero.
    """
    sign, size, weight, more = np.broadcast_arrays(
        np.asarray(negative, np.bool_),
        np.asarray(magnitude, np.int64),
        np.asarray(exponent, np.int64),
        np.asarray(sticky, np.int8),
    )
    return round_and_pack(sign, size, weight, fmt, more).view(np.uint64)


def add(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    """``a + b``; an exact zero from unequal signs is +0."""
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    shape = x.shape
    left, right = unpack(x.ravel(), fmt), unpack(y.ravel(), fmt)
    swap = (right.exponent > left.exponent) | (
        (right.exponent == left.exponent) & (right.significand > left.significand)
    )
    distance = np.minimum(np.abs(left.exponent - right.exponent), 62)
    significand_l = np.where(left.zero, 0, left.significand) << 3
    significand_r = np.where(right.zero, 0, right.significand) << 3
    large = np.where(swap, significand_r, significand_l)
    small = np.where(swap, significand_l, significand_r)
    exponent = np.maximum(left.exponent, right.exponent)
    negative = np.where(swap, right.negative, left.negative)
    aligned = small >> distance
    aligned |= (aligned << distance) != small
    unlike = left.negative != right.negative
    total = np.where(unlike, large - aligned, large + aligned)
    negative = np.where(total == 0, left.negative & right.negative, negative)
    d = round_and_pack(negative, total, exponent - fmt.fraction_bits - 3, fmt)
    infinite_sign = np.where(left.infinite, left.negative, right.negative)
    d = np.where(left.infinite | right.infinite, _signed(infinite_sign, fmt.infinity, fmt), d)
    invalid = left.nan | right.nan | (left.infinite & right.infinite & unlike)
    return np.where(invalid, fmt.nan, d).view(np.uint64).reshape(shape)


def multiply(
    a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat, result: FloatFormat | None = None
) -> Patterns:
    """``a * b`` with operands of ``fmt``, rounded once to ``result`` (default: the same format)."""
    target = fmt if result is None else result
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    shape = x.shape
    left, right = unpack(x.ravel(), fmt), unpack(y.ravel(), fmt)
    negative = left.negative != right.negative
    zero = left.zero | right.zero
    magnitude, dropped, sticky = _product(left.significand, right.significand, fmt)
    exponent = np.where(zero, 0, left.exponent + right.exponent) - 2 * fmt.fraction_bits
    d = round_and_pack(
        negative, np.where(zero, 0, magnitude), exponent + dropped, target, sticky.astype(np.int8)
    )
    infinite = left.infinite | right.infinite
    d = np.where(infinite, _signed(negative, target.infinity, target), d)
    invalid = left.nan | right.nan | (infinite & zero)
    return np.where(invalid, target.nan, d).view(np.uint64).reshape(shape)


def convert(a: npt.ArrayLike, fmt: FloatFormat, result: FloatFormat) -> Patterns:
    """The value of ``a`` rounded to another format."""
    x = np.asarray(a)
    value = unpack(x.ravel(), fmt)
    magnitude = np.where(value.zero, 0, value.significand)
    exponent = np.where(value.zero, 0, value.exponent) - fmt.fraction_bits
    d = round_and_pack(value.negative, magnitude, exponent, result)
    d = np.where(value.infinite, _signed(value.negative, result.infinity, result), d)
    return np.where(value.nan, result.nan, d).view(np.uint64).reshape(x.shape)


def compare(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Comparison:
    """IEEE relations of ``a`` to ``b``."""
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    shape = x.shape
    left, right = unpack(x.ravel(), fmt), unpack(y.ravel(), fmt)
    unordered = (left.nan | right.nan).reshape(shape)
    order_a, order_b = _order(x, fmt), _order(y, fmt)
    less, equal = order_a < order_b, order_a == order_b
    return Comparison(less & ~unordered, equal & ~unordered, unordered)


def minimum(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    """IEEE 754-2019 ``minimum``: a NaN wins, -0 is below +0."""
    return _select(a, b, fmt, smaller=True)


def maximum(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    """IEEE 754-2019 ``maximum``: a NaN wins, -0 is below +0."""
    return _select(a, b, fmt, smaller=False)


def _signed(negative: npt.NDArray[np.generic], pattern: int, fmt: FloatFormat) -> Ints:
    """A pattern with a sign; the canonical NaN of a format without infinities keeps none."""
    if pattern == fmt.nan:
        return np.full(negative.shape, pattern, np.int64)
    top = np.array(1 << (fmt.bits - 1), np.uint64).view(np.int64)
    return np.where(negative, top | pattern, pattern)


def _product(x: Ints, y: Ints, fmt: FloatFormat) -> tuple[Ints, Ints, Bools]:
    """Upper bits of a product below 2**62, how many low bits were dropped, whether any was one."""
    if 2 * fmt.significand_bits <= 62:
        product = x * y
        return product, np.zeros_like(product), np.zeros(product.shape, np.bool_)
    # Halves of 27 bits: three partial products, none above 2**55.
    half = np.int64((1 << 27) - 1)
    high, low = (x >> 27) * (y >> 27), (x & half) * (y & half)
    middle = (x >> 27) * (y & half) + (x & half) * (y >> 27)
    low = low + ((middle & half) << 27)
    high = high + (middle >> 27) + (low >> 54)
    low = low & np.int64((1 << 54) - 1)
    kept = (high << 8) | (low >> 46)
    return kept, np.full(kept.shape, 46, np.int64), (low & np.int64((1 << 46) - 1)) != 0


def _order(patterns: npt.NDArray[np.generic], fmt: FloatFormat) -> Ints:
    """Integers in the order of the values; both zeros give 0."""
    words = patterns.astype(np.uint64)
    size = (words & np.uint64((1 << (fmt.bits - 1)) - 1)).view(np.int64)
    negative = ((words >> np.uint64(fmt.bits - 1)) & np.uint64(1)).astype(np.bool_)
    return np.where(negative, -size, size)


def _select(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat, *, smaller: bool) -> Patterns:
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    words_a, words_b = x.astype(np.uint64), y.astype(np.uint64)
    order_a, order_b = _order(x, fmt), _order(y, fmt)
    sign = np.uint64(1 << (fmt.bits - 1))
    below = (order_a < order_b) | ((order_a == order_b) & ((words_a & sign) > (words_b & sign)))
    chosen = np.where(below == smaller, words_a, words_b)
    return np.where(compare(x, y, fmt).unordered, np.uint64(fmt.nan), chosen)
