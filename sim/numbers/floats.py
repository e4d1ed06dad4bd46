"""Floating-point values as integers: unpacking a bit pattern, rounding back into one.

The two halves that every model of this room shares. All arrays are NumPy; patterns are unsigned
integers that hold a value of ``fmt.bits`` bits right-aligned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat

__all__ = [
    "ZERO_EXPONENT",
    "Bools",
    "Ints",
    "Unpacked",
    "bit_length",
    "from_container",
    "round_and_pack",
    "to_container",
    "unpack",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ZERO_EXPONENT = -(1 << 20)
"""Exponent given to zeros: below every other, so that a maximum never picks it."""


class Unpacked(NamedTuple):
    """A finite value is ``(-1)**negative * significand * 2**(exponent - fraction_bits)``.

    Subnormals are normalised: the significand of every non-zero finite value lies in
    ``[2**fraction_bits, 2**(fraction_bits + 1))``. Zeros have significand 0 and exponent
    ``ZERO_EXPONENT``. For infinities and NaN significand and exponent mean nothing.
    """

    negative: Bools
    exponent: Ints
    significand: Ints
    zero: Bools
    infinite: Bools
    nan: Bools


def bit_length(values: Ints) -> Ints:
    """Bits needed for each non-negative value (0 for 0); values below 2**63."""
    # Clearing every bit that follows a set one leaves the top bit and keeps the conversion to
    # float64 from rounding up to the next power of two.
    isolated = values & ~(values >> 1)
    exponent = (isolated.astype(np.float64).view(np.int64) >> 52) - 1022
    return np.maximum(exponent, 0)


def from_container(words: npt.ArrayLike, fmt: FloatFormat) -> Ints:
    """Patterns of ``bits`` bits from container words; the padding below them is ignored."""
    patterns = np.asarray(words).astype(np.uint64) >> np.uint64(fmt.padding_bits)
    return (patterns & np.uint64((1 << fmt.bits) - 1)).view(np.int64)


def to_container(patterns: npt.ArrayLike, fmt: FloatFormat) -> npt.NDArray[np.uint64]:
    """Container words from patterns of ``bits`` bits; the padding is zero."""
    return np.asarray(patterns).astype(np.uint64) << np.uint64(fmt.padding_bits)


def unpack(patterns: npt.ArrayLike, fmt: FloatFormat) -> Unpacked:
    """Split patterns into sign, exponent, significand and class."""
    words = np.atleast_1d(np.asarray(patterns)).astype(np.uint64).view(np.int64)
    negative = ((words >> (fmt.bits - 1)) & 1).astype(np.bool_)
    field = (words >> fmt.fraction_bits) & fmt.exponent_mask
    fraction = words & fmt.fraction_mask
    top = field == fmt.exponent_mask
    if fmt.has_infinity:
        infinite = top & (fraction == 0)
        nan = top & (fraction != 0)
    else:
        infinite = np.zeros(words.shape, np.bool_)
        nan = top & (fraction == fmt.fraction_mask)
    exponent = field - fmt.bias
    significand = fraction | (1 << fmt.fraction_bits)
    small = field == 0
    zero = small & (fraction == 0)
    if small.any():
        shift = fmt.significand_bits - bit_length(fraction[small])
        significand[small] = fraction[small] << shift
        exponent[small] = fmt.emin - shift
        exponent[zero] = ZERO_EXPONENT
    return Unpacked(negative, exponent, significand, zero, infinite, nan)


def round_and_pack(
    negative: Bools,
    magnitude: Ints,
    exponent: Ints,
    fmt: FloatFormat,
    residue: npt.NDArray[np.int8] | None = None,
) -> Ints:
    """Round ``magnitude * 2**exponent`` to the nearest value of a format, ties to even.

    Parameters
    ----------
    negative: sign of the result, also where it rounds to zero
    magnitude: below 2**62
    exponent: weight of the magnitude's bit 0
    residue: +1, 0 or -1: the value lies an infinitesimal amount above, at or below the
        magnitude; it decides ties only

    Returns
    -------
    Patterns. Results beyond the largest finite value give ``fmt.infinity`` with the sign, or the
    canonical NaN in a format without infinities.
    """
    quantum = fmt.emin - fmt.fraction_bits
    shift = np.maximum(bit_length(magnitude) - fmt.significand_bits, quantum - exponent)
    right = np.clip(shift, 0, 62)
    left = np.clip(-shift, 0, 62)
    kept = magnitude >> right
    tie = kept & 1
    if residue is not None:
        tie = np.where(residue == 0, tie, residue > 0)
    half = (np.int64(1) << right) >> 1
    rounded = (magnitude + (half - (right > 0)) + (tie & (right > 0))) >> right
    rounded = np.where(shift > 62, 0, rounded << left)
    field = np.minimum(exponent + shift - quantum, fmt.exponent_mask - fmt.has_infinity)
    packed = (field << fmt.fraction_bits) + rounded
    packed = np.where(rounded == 0, 0, packed)
    # Unsigned: of fp64 a sum far beyond the largest value reaches the 64th bit.
    over = packed.view(np.uint64) > fmt.largest
    sign = np.where(negative, np.int64(-1) << (fmt.bits - 1), 0)
    if fmt.bits < 64:
        sign &= (1 << fmt.bits) - 1
    if fmt.has_infinity:
        unsigned: Ints = np.where(over, np.int64(fmt.infinity), packed)
        return unsigned | sign
    signed: Ints = packed | sign
    return np.where(over, np.int64(fmt.nan), signed)
