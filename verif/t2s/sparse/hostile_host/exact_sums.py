"""Sums of products in exact rational numbers, rounded as the contract of numbers says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

__all__ = ["FLOATS", "ExactSums"]

FLOATS = {"fp16": (5, 10), "bf16": (8, 7), "fp32": (8, 23)}
"""Bits of exponents and of fractions."""

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32}


@dataclass(frozen=True)
class _Number:
    """A float: NaN, an infinity, or a value; of zero the sign counts.

    Parameters
    ----------
    kind: "nan", "inf" or "finite"
    """

    kind: str
    negative: bool = False
    value: Fraction = Fraction(0)

    @property
    def order(self) -> tuple[int, Fraction, int]:
        """By which numbers are compared: -0 below +0."""
        if self.kind == "inf":
            return (-1 if self.negative else 1, Fraction(0), 0)
        return (0, self.value, 0 if self.negative else 1)


_NAN = _Number("nan")


def _infinity(negative: bool) -> _Number:
    return _Number("inf", negative)


def _finite(value: Fraction, zero_negative: bool = False) -> _Number:
    return _Number("finite", value < 0 or (value == 0 and zero_negative), value)


def _decoded(pattern: int, fmt: str) -> _Number:
    exponent_bits, fraction_bits = FLOATS[fmt]
    negative = bool(pattern >> (exponent_bits + fraction_bits))
    exponent = (pattern >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = pattern & ((1 << fraction_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return _NAN if fraction else _infinity(negative)
    significand = fraction | ((1 << fraction_bits) if exponent else 0)
    scale = max(exponent, 1) - ((1 << (exponent_bits - 1)) - 1) - fraction_bits
    value = Fraction(significand) * Fraction(2) ** scale
    return _Number("finite", negative, -value if negative else value)


def _encoded(number: _Number, fmt: str) -> int:
    """To the nearest, ties to even."""
    exponent_bits, fraction_bits = FLOATS[fmt]
    sign = int(number.negative) << (exponent_bits + fraction_bits)
    top = ((1 << exponent_bits) - 1) << fraction_bits
    if number.kind == "nan":
        return top | 1 << (fraction_bits - 1)
    if number.kind == "inf":
        return sign | top
    magnitude = abs(number.value)
    if not magnitude:
        return sign
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    exponent = max(exponent, 1 - bias)
    # Python rounds fractions to even.
    steps = round(magnitude / Fraction(2) ** (exponent - fraction_bits))
    # A carry goes on into the exponent; below the smallest normal number there is no hidden one.
    pattern = ((exponent + bias - 1) << fraction_bits) + steps
    return sign | min(pattern, top)


def _product(factors: Sequence[_Number]) -> _Number:
    if any(one.kind == "nan" for one in factors):
        return _NAN
    negative = sum(one.negative for one in factors) % 2 == 1
    if any(one.kind == "inf" for one in factors):
        zero = any(one.kind == "finite" and one.value == 0 for one in factors)
        return _NAN if zero else _infinity(negative)
    return _finite(prod((one.value for one in factors), start=Fraction(1)), negative)


def _total(terms: Sequence[_Number]) -> _Number:
    signs = {one.negative for one in terms if one.kind == "inf"}
    if any(one.kind == "nan" for one in terms) or len(signs) == 2:
        return _NAN
    if signs:
        return _infinity(signs.pop())
    value = sum((one.value for one in terms), Fraction(0))
    return _finite(value, all(one.value == 0 and one.negative for one in terms))


class ExactSums:
    """What elements make of entries: patterns in, patterns out.

    Parameters
    ----------
    format: of words
    semiring: its name
    """

    def __init__(self, format: str, semiring: str) -> None:
        self._format, self._semiring = format, semiring
        self.floats = format in FLOATS
        self.sum_format = "fp32" if self.floats else "int32"

    @property
    def identity(self) -> int:
        """Of sums: what a row without entries is."""
        least = self._semiring in ("maxplus", "maxmin")
        if self._semiring in ("mma", "orand"):
            return 0
        if self.floats:
            return _encoded(_infinity(least), self.sum_format)
        return 1 << 31 if least else (1 << 31) - 1

    def added(self, total: int, products: Sequence[Sequence[int]]) -> int:
        """``total (+) products``, each of one to three words; one rounding, but for the product of
        the first two of three."""
        if self.floats:
            return self._floats(total, products)
        bits = _INTEGERS[self._format]
        numbers = [[_signed(word, bits) for word in words] for words in products]
        terms = [_signed(total, 32), *map(self._whole, numbers)]
        if self._semiring == "mma":
            return sum(terms) % (1 << 32)
        if self._semiring == "orand":
            return int(any(terms))
        chosen = max(terms) if self._semiring.startswith("max") else min(terms)
        return chosen % (1 << 32)

    def _whole(self, words: Sequence[int]) -> int:
        if self._semiring == "mma":
            return prod(words)
        if self._semiring == "orand":
            return int(all(words))
        if self._semiring.endswith("plus"):
            return sum(words)
        return max(words) if self._semiring == "minmax" else min(words)

    def _floats(self, total: int, products: Sequence[Sequence[int]]) -> int:
        wide = self.sum_format
        so_far = _decoded(total, wide)
        terms = []
        for words in products:
            numbers = [_decoded(word, self._format) for word in words]
            if self._semiring == "mma" and len(numbers) == 3:
                first = _total([_finite(Fraction(0)), _product(numbers[:2])])
                numbers = [_decoded(_encoded(first, wide), wide), numbers[2]]
            terms.append(self._term(numbers))
        if self._semiring == "mma":
            return _encoded(_total([so_far, *terms]), wide)
        if self._semiring == "orand":
            true = any(_true(one) for one in (so_far, *terms))
            return _encoded(_finite(Fraction(int(true))), wide)
        rounded = [so_far, *(_decoded(_encoded(one, wide), wide) for one in terms)]
        return _encoded(_extreme(rounded, most=self._semiring.startswith("max")), wide)

    def _term(self, numbers: Sequence[_Number]) -> _Number:
        if self._semiring == "mma":
            return _product(numbers)
        if self._semiring == "orand":
            return _finite(Fraction(int(all(map(_true, numbers)))))
        if self._semiring.endswith("plus"):
            return _total(numbers)
        return _extreme(numbers, most=self._semiring == "minmax")


def _true(number: _Number) -> bool:
    return number.kind != "finite" or number.value != 0


def _extreme(numbers: Sequence[_Number], *, most: bool) -> _Number:
    if any(one.kind == "nan" for one in numbers):
        return _NAN
    return (
        max(numbers, key=lambda one: one.order) if most else min(numbers, key=lambda one: one.order)
    )


def _signed(pattern: int, bits: int) -> int:
    return pattern - (1 << bits) if pattern >> (bits - 1) else pattern
