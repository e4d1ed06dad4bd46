"""The fused multiply-add ``a * b + c`` of any format, rounded once, on whole arrays.

Products of formats up to fp32 are exact in float64. Their sum with an addend is rounded to odd
there: it keeps what the second rounding, to the format, has to know, since float64 has at least two
places more (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums"). fp64 is summed
in integers of two limbs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat
from .floats import Bools, Ints, Unpacked, bit_length, round_and_pack, unpack
from .values import Patterns, decode, encode

__all__ = ["multiply_add", "multiply_add_unpacked", "sum_to_odd"]

Floats = npt.NDArray[np.float64]

_LIMB = 54
_MASK = np.int64((1 << _LIMB) - 1)
_HALF = 27
_LEADING = 112
"""Place of a product's bit of weight 1 in two limbs: two places above it, and 8 below its last."""


def multiply_add(
    a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, fmt: FloatFormat
) -> Patterns:
    """``a * b + c``, patterns of one format, which broadcast.

    An exact zero is -0 if both terms are negative zeros, else +0. NaN of any kind, infinity times
    zero, and infinities of unlike signs give the canonical NaN.
    """
    if 2 * fmt.significand_bits <= 48:
        with np.errstate(invalid="ignore"):
            product = decode(a, fmt) * decode(b, fmt)
        return encode(sum_to_odd(product, decode(c, fmt)), fmt)
    x, y, z = np.broadcast_arrays(np.asarray(a), np.asarray(b), np.asarray(c))
    left, right = unpack(x.ravel(), fmt), unpack(y.ravel(), fmt)
    found = multiply_add_unpacked(left, right, unpack(z.ravel(), fmt), fmt)
    return found.view(np.uint64).reshape(x.shape)


def sum_to_odd(p: Floats, c: Floats) -> Floats:
    """``p + c`` rounded to odd: the exact sum, or of the two numbers beside it the one whose last
    place is odd. The terms must be so far below the largest float64 that no sum overflows."""
    with np.errstate(invalid="ignore"):
        total: Floats = np.add(p, c)
        virtual = total - p
        error = (p - (total - virtual)) + (c - virtual)
        # Beside an infinity or a NaN the error is a NaN, and counts as none.
        inexact = np.abs(error) > 0
    # The magnitude cut off, which is one less where the error points to 0, with the last bit set.
    inward = inexact & ((error < 0) != (total < 0))
    words = total.view(np.int64)
    return ((words - inward) | inexact).view(np.float64)


def multiply_add_unpacked(x: Unpacked, y: Unpacked, c: Unpacked, fmt: FloatFormat) -> Ints:
    """``x * y + c`` of operands that are unpacked and broadcast, for significands of up to 53
    bits: patterns."""
    negative = x.negative != y.negative
    unlike = negative != c.negative
    product = _product(x.significand, y.significand, fmt)
    exponent = x.exponent + y.exponent
    addend = c.significand << (_LEADING - _LIMB - fmt.fraction_bits)
    swap = c.exponent > exponent
    large = np.where(swap, addend, product[0]), np.where(swap, 0, product[1])
    small = np.where(swap, product[0], addend), np.where(swap, product[1], 0)
    aligned, lost = _shift_right(*small, np.abs(exponent - c.exponent))
    # The lost bits of the smaller term are so far below the sum that they decide ties only.
    sign = np.where(unlike, np.int64(-1), np.int64(1))
    high, low = _carried(large[0] + sign * aligned[0], large[1] + sign * aligned[1])
    nothing = (high | low) == 0
    turned = np.where(high < 0, np.int64(-1), np.int64(1))
    high, low = _carried(turned * high, turned * low)
    up = np.clip(61 - bit_length(high), 0, _LIMB)
    magnitude = (high << up) | (low >> (_LIMB - up))
    cut = (low & ((np.int64(1) << (_LIMB - up)) - 1)) != 0
    residue = np.where(cut, 1, sign * lost).astype(np.int8)
    result_negative = np.where(swap, c.negative, negative) != (turned < 0)
    result_negative = np.where(nothing, negative & c.negative, result_negative)
    weight = np.maximum(exponent, c.exponent) - _LEADING + _LIMB - up
    d = round_and_pack(result_negative, magnitude, weight, fmt, residue)
    return _special_values(x, y, c, negative, fmt, d)


def _product(x: Ints, y: Ints, fmt: FloatFormat) -> tuple[Ints, Ints]:
    """The product's two limbs, scaled so that 1 times 1 is ``2**_LEADING``."""
    half = np.int64((1 << _HALF) - 1)
    x_high, x_low, y_high, y_low = x >> _HALF, x & half, y >> _HALF, y & half
    middle = x_high * y_low + x_low * y_high
    low = x_low * y_low + ((middle & half) << _HALF)
    high = x_high * y_high + (middle >> _HALF) + (low >> _LIMB)
    up = _LEADING - 2 * fmt.fraction_bits
    low = low & _MASK
    return (high << up) | (low >> (_LIMB - up)), (low << up) & _MASK


def _shift_right(high: Ints, low: Ints, places: Ints) -> tuple[tuple[Ints, Ints], Bools]:
    """A number of two limbs shifted, the lower limb perhaps too long, and whether anything that is
    not 0 was lost."""
    far = places >= _LIMB
    rest: Ints = np.minimum(places - _LIMB * far, 62)
    upper: Ints = np.where(far, 0, high)
    lower: Ints = np.where(far, high, low)
    lost: Bools = ((lower & ((np.int64(1) << rest) - 1)) | np.where(far, low, 0)) != 0
    joined: Ints = ((upper << np.maximum(_LIMB - rest, 0)) & _MASK) | (lower >> rest)
    return (upper >> rest, joined), lost


def _carried(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    """The same number with a lower limb that is neither negative nor too long."""
    return high + (low >> _LIMB), low & _MASK


def _special_values(
    x: Unpacked, y: Unpacked, c: Unpacked, negative: Bools, fmt: FloatFormat, finite: Ints
) -> Ints:
    """Replace what infinities and NaN decide."""
    factor = x.infinite | y.infinite
    nan = x.nan | y.nan | (x.infinite & y.zero) | (x.zero & y.infinite)
    special = factor | nan | c.infinite | c.nan
    if not special.any():
        return finite
    nan = nan | c.nan | (factor & c.infinite & (negative != c.negative))
    top: Any = np.array(1 << (fmt.bits - 1), np.uint64).view(np.int64)
    infinity = np.where(np.where(factor, negative, c.negative), top | fmt.infinity, fmt.infinity)
    return np.where(nan, fmt.nan, np.where(special, infinity, finite))
