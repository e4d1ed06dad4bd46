"""Products of matrices of integers, exact whatever their sums are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import INT_FORMATS
from ...numbers.values import Patterns, decode

__all__ = ["integer_sums"]

Ints = npt.NDArray[np.int64]

_BITS = 16
_MASK = (1 << _BITS) - 1

_DEPTH = 1 << 20
"""Products of limbs that float64 sums without rounding, with a factor of two to spare."""

_BLOCK = 1 << 20
"""Sums worked on at a time."""


def integer_sums(
    format: str, a: Patterns, b: Patterns, c: Patterns, bits: int, result: str
) -> Patterns:
    """``C + A B``: modulo ``2**bits`` ("wrap"), clamped ("saturate"), modulo ``2**128`` ("long").

    Parameters
    ----------
    a, b: patterns of the format, (M, K) and (K, N), K below 2**28
    c: patterns of ``bits`` bits, (M, N); for "long" words (M, N, 2)

    Limbs of 16 bits are multiplied as float64 matrices, whose sums of up to 2**20 products are
    exact; what has one weight is summed in int64, and carried once at the end.
    """
    x, y = _limbs(format, a), _limbs(format, b)
    d = np.empty(c.shape, np.uint64)
    rows = max(1, _BLOCK // max(1, c.shape[1]))
    for top in range(0, c.shape[0], rows):
        cut = slice(top, top + rows)
        digits = _digits([limb[cut] for limb in x], y, c[cut], bits)
        d[cut] = _KEEP[result](digits, bits)
    return d


def _limbs(format: str, patterns: Patterns) -> list[npt.NDArray[np.float64]]:
    """Limbs of 16 bits, lowest first; the top one has the sign."""
    rest: Ints = decode(patterns, INT_FORMATS[format])
    found = []
    for _ in range(INT_FORMATS[format].bits // _BITS - 1):
        found.append((rest & _MASK).astype(np.float64))
        rest = rest >> _BITS
    return [*found, rest.astype(np.float64)]


def _digits(x: list[Any], y: list[Any], c: Patterns, bits: int) -> list[Ints]:
    """The exact sums, as digits of 16 bits, lowest first; above them one with the sign."""
    shape = (x[0].shape[0], y[0].shape[1])
    # Digits that hold C, "long" or not, and one more for the excess of a sum.
    whole = c.ndim == 3
    count = (2 * bits if whole else bits) // _BITS
    weights = [np.zeros(shape, np.int64) for _ in range(max(count, len(x) + len(y)) + 1)]
    for i, left in enumerate(x):
        for j, right in enumerate(y):
            for k in range(0, left.shape[1], _DEPTH):
                part = left[:, k : k + _DEPTH] @ right[k : k + _DEPTH]
                weights[i + j] += part.astype(np.int64)
    words = np.moveaxis(c, 2, 0) if whole else c[np.newaxis]
    per = bits // _BITS
    for place in range(count):
        word = words[place // per] >> np.uint64(place % per * _BITS)
        weights[place] += (word & np.uint64(_MASK)).view(np.int64)
    negative = (words[-1] >> np.uint64(bits - 1)).view(np.int64)
    weights[count] -= negative
    carry = np.zeros(shape, np.int64)
    digits = []
    for weight in weights[:-1]:
        carry = carry + weight
        digits.append(carry & _MASK)
        carry = carry >> _BITS
    return [*digits, carry + weights[-1]]


def _word(digits: list[Ints], bits: int) -> Patterns:
    """The lowest digits as one word."""
    word = np.zeros(digits[0].shape, np.uint64)
    for place in range(bits // _BITS):
        word |= digits[place].view(np.uint64) << np.uint64(place * _BITS)
    return word


def _wrapped(digits: list[Ints], bits: int) -> Patterns:
    return _word(digits, bits)


def _saturated(digits: list[Ints], bits: int) -> Patterns:
    count = bits // _BITS
    negative = digits[-1] < 0
    sign = np.where(negative, np.int64(_MASK), np.int64(0))
    fits = (digits[count - 1] >> (_BITS - 1)) == (sign & 1)
    for digit in digits[count:-1]:
        fits &= digit == sign
    fits &= digits[-1] == -negative.astype(np.int64)
    highest = np.uint64((1 << (bits - 1)) - 1)
    return np.where(fits, _word(digits, bits), np.where(negative, highest + np.uint64(1), highest))


def _long(digits: list[Ints], bits: int) -> Patterns:
    per = bits // _BITS
    return np.stack([_word(digits, bits), _word(digits[per:], bits)], axis=-1)


_KEEP = {"wrap": _wrapped, "saturate": _saturated, "long": _long}
