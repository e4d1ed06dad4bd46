"""The number formats: one table for hardware, models and tests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "FLOAT_FORMATS",
    "FORMATS",
    "INT_FORMATS",
    "AnyFormat",
    "ComplexFormat",
    "FloatFormat",
    "Format",
    "IntFormat",
]


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format: sign, exponent, fraction, from the top bit down.

    Parameters
    ----------
    name: the format's name, as users type it
    exponent_bits, fraction_bits: field widths in bits
    container_bits: width of the word that carries a value; the value sits in its upper
        ``bits`` bits, whatever lies below is ignored (tf32) and written as zero
    has_infinity: false for OCP E4M3, whose only non-finite code is all ones (NaN)
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    container_bits: int
    has_infinity: bool = True

    @property
    def bits(self) -> int:
        """Width of the value itself: 1 + exponent_bits + fraction_bits."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def padding_bits(self) -> int:
        """Ignored low bits of the container."""
        return self.container_bits - self.bits

    @property
    def significand_bits(self) -> int:
        """Fraction bits and the hidden bit."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def emin(self) -> int:
        """Unbiased exponent of the smallest normal value and of all subnormal values."""
        return 1 - self.bias

    @property
    def emax(self) -> int:
        """Unbiased exponent of the largest finite value."""
        return self.bias if self.has_infinity else self.bias + 1

    @property
    def exponent_mask(self) -> int:
        return (1 << self.exponent_bits) - 1

    @property
    def fraction_mask(self) -> int:
        return (1 << self.fraction_bits) - 1

    @property
    def nan(self) -> int:
        """The canonical quiet NaN, as a value of ``bits`` bits."""
        if not self.has_infinity:
            return (1 << (self.bits - 1)) - 1
        return (self.exponent_mask << self.fraction_bits) | (1 << (self.fraction_bits - 1))

    @property
    def infinity(self) -> int:
        """Pattern of an overflow, sign bit clear: infinity, or NaN in a format without one."""
        return self.exponent_mask << self.fraction_bits if self.has_infinity else self.nan

    @property
    def largest(self) -> int:
        """The largest finite value, as a value of ``bits`` bits."""
        return self.infinity - 1

    @property
    def one(self) -> int:
        """The value 1."""
        return self.bias << self.fraction_bits

    def contains(self, other: Format) -> bool:
        """Returns whether this format represents every value of the other."""
        return (
            isinstance(other, FloatFormat)
            and self.exponent_bits >= other.exponent_bits
            and self.fraction_bits >= other.fraction_bits
            and self.has_infinity >= other.has_infinity
        )

    def constant(self, word: str) -> int | None:
        """The pattern of "0", "-0", "1", "+inf" or "-inf"; None if the format has none such."""
        if word.endswith("inf") and not self.has_infinity:
            return None
        sign = (word[0] == "-") << (self.bits - 1)
        return sign | {"0": 0, "1": self.one, "inf": self.infinity}[word.lstrip("+-")]


@dataclass(frozen=True, kw_only=True)
class IntFormat:
    """Integers in two's complement.

    Parameters
    ----------
    name: the format's name, as users type it
    container_bits: width of a value and of the word that carries it
    """

    name: str
    container_bits: int

    @property
    def bits(self) -> int:
        return self.container_bits

    @property
    def lowest(self) -> int:
        """The smallest number."""
        return -(1 << (self.bits - 1))

    @property
    def highest(self) -> int:
        """The largest number."""
        return (1 << (self.bits - 1)) - 1

    def contains(self, other: Format) -> bool:
        """Returns whether this format represents every value of the other."""
        return isinstance(other, IntFormat) and self.bits >= other.bits

    def constant(self, word: str) -> int:
        """The pattern of "0", "-0" (which is 0), "1", "+inf" or "-inf": the ends of the range."""
        number = {"0": 0, "-0": 0, "1": 1, "+inf": self.highest, "-inf": self.lowest}[word]
        return number & ((1 << self.bits) - 1)


Format = FloatFormat | IntFormat


@dataclass(frozen=True, kw_only=True)
class ComplexFormat:
    """A pair of floats, the real part in the low half."""

    part: FloatFormat

    @property
    def name(self) -> str:
        return f"{self.part.name}c"

    @property
    def container_bits(self) -> int:
        return 2 * self.part.container_bits


AnyFormat = Format | ComplexFormat
"""Formats that elements may have."""


_ROWS = (
    FloatFormat(name="fp8e4m3", exponent_bits=4, fraction_bits=3, container_bits=8,
                has_infinity=False),
    FloatFormat(name="fp8e5m2", exponent_bits=5, fraction_bits=2, container_bits=8),
    FloatFormat(name="fp16", exponent_bits=5, fraction_bits=10, container_bits=16),
    FloatFormat(name="bf16", exponent_bits=8, fraction_bits=7, container_bits=16),
    FloatFormat(name="tf32", exponent_bits=8, fraction_bits=10, container_bits=32),
    FloatFormat(name="fp32", exponent_bits=8, fraction_bits=23, container_bits=32),
    FloatFormat(name="fp64", exponent_bits=11, fraction_bits=52, container_bits=64),
)  # fmt: skip

FLOAT_FORMATS: dict[str, FloatFormat] = {row.name: row for row in _ROWS}

INT_FORMATS: dict[str, IntFormat] = {
    f"int{bits}": IntFormat(name=f"int{bits}", container_bits=bits) for bits in (8, 16, 32, 64)
}

FORMATS: dict[str, Format] = {**FLOAT_FORMATS, **INT_FORMATS}
