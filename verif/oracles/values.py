"""Float patterns as exact numbers, and exact numbers rounded to patterns, in Python integers."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.hw.spec.formats import FloatFormat


class Value(NamedTuple):
    """``kind`` is "nan", "infinite" or "finite"; a finite value is ``integer * 2**exponent``.

    ``integer`` is signed, ``exponent`` is the exponent of the value's last place (the grid of
    the numerics page), ``negative`` the sign bit.
    """

    kind: str
    negative: bool
    integer: int
    exponent: int


def decode(pattern: int, fmt: FloatFormat) -> Value:
    """The value of a pattern of ``fmt.bits`` bits."""
    negative = bool(pattern >> (fmt.bits - 1) & 1)
    field = pattern >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
    fraction = pattern & ((1 << fmt.fraction_bits) - 1)
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    if field == (1 << fmt.exponent_bits) - 1:
        if not fmt.has_infinity:
            if fraction == (1 << fmt.fraction_bits) - 1:
                return Value("nan", negative, 0, 0)
        else:
            return Value("nan" if fraction else "infinite", negative, 0, 0)
    integer = fraction + (1 << fmt.fraction_bits if field else 0)
    exponent = max(field, 1) - bias - fmt.fraction_bits
    return Value("finite", negative, -integer if negative else integer, exponent)


def round_exact(integer: int, exponent: int, fmt: FloatFormat, negative_zero: bool = False) -> int:
    """The pattern nearest to ``integer * 2**exponent``, ties to even.

    An exact zero takes the sign asked for; a value that underflows keeps its own.
    """
    top = 1 << (fmt.bits - 1)
    if integer == 0:
        return top if negative_zero else 0
    sign = top if integer < 0 else 0
    size = -integer if integer < 0 else integer
    places = fmt.fraction_bits
    leading = size.bit_length() - 1 + exponent
    smallest = 2 - 2 ** (fmt.exponent_bits - 1)
    last = max(leading, smallest) - places
    cut = last - exponent
    if cut <= 0:
        count = size << -cut
    else:
        count, rest = size >> cut, size & ((1 << cut) - 1)
        half = 1 << (cut - 1)
        if rest > half or (rest == half and count & 1):
            count += 1
    if count >> (places + 1):
        count, last = count >> 1, last + 1
    if count >> places == 0:
        return sign | count
    field = last + places - smallest + 1
    pattern = (field << places) + count - (1 << places)
    all_ones = (1 << fmt.exponent_bits) - 1
    if fmt.has_infinity:
        return sign | min(pattern, all_ones << places)
    not_a_number = top - 1
    return not_a_number if pattern >= not_a_number else sign | pattern


def order_key(pattern: int, fmt: FloatFormat) -> int:
    """Position of a non-NaN pattern in the order of values, -0 right below +0."""
    top = 1 << (fmt.bits - 1)
    return pattern if pattern < top else -(pattern - top) - 1


def ulp_exponent(integer: int, exponent: int, fmt: FloatFormat) -> int:
    """Exponent of the unit in the last place of ``fmt`` at ``integer * 2**exponent``."""
    smallest = 2 - 2 ** (fmt.exponent_bits - 1)
    leading = abs(integer).bit_length() - 1 + exponent if integer else smallest
    return max(leading, smallest) - fmt.fraction_bits
