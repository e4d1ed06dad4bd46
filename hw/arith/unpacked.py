"""Layouts of a float outside its packed format, between components."""

from __future__ import annotations

from amaranth.hdl import signed
from amaranth.lib import data

from ..spec.formats import FloatFormat

__all__ = ["exponent_bits", "format_layout", "unpacked_layout"]


def exponent_bits(low: int, high: int) -> int:
    """Bits of the smallest two's-complement number that holds ``low..high``."""
    return max((-low - 1 if low < 0 else low).bit_length(), high.bit_length()) + 1


def unpacked_layout(exponent_bits: int, significand_bits: int) -> data.StructLayout:
    """A classified float: ``(-1)**sign * significand * 2**(exponent - significand_bits + 1)``.

    ``exponent`` is unbiased. ``zero``, ``infinite`` and ``nan`` exclude each other; the
    significand of a zero is zero, that of an infinity or NaN is arbitrary.
    """
    return data.StructLayout(
        {
            "significand": significand_bits,
            "exponent": signed(exponent_bits),
            "sign": 1,
            "zero": 1,
            "infinite": 1,
            "nan": 1,
        }
    )


def format_layout(fmt: FloatFormat) -> data.StructLayout:
    """The unpacked layout of a format, subnormal values normalised.

    An infinity's exponent is one above that of the largest finite value.
    """
    lowest = fmt.emin - fmt.fraction_bits
    return unpacked_layout(exponent_bits(lowest, fmt.emax + 1), fmt.significand_bits)
