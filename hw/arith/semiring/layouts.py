"""Layouts of the data between the parts of a semiring unit."""

from __future__ import annotations

from collections.abc import Collection

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from ...spec.formats import FloatFormat
from ...spec.semirings import Semiring
from ..unpack import exponent_bits, format_layout

__all__ = ["half_width", "operator_layout", "term_layout"]


def operator_layout(semirings: Collection[Semiring]) -> data.StructLayout:
    """The decoded opcode: a bit for each operator that some semiring uses, (x) and (+) apart.

    For an operation that is not one of these, all bits are clear.
    """
    times = sorted({f"times_{row.times}" for row in semirings})
    plus = sorted({f"plus_{row.plus}" for row in semirings})
    return data.StructLayout(dict.fromkeys([*times, *plus], 1))


def term_layout(
    element: FloatFormat,
    result: FloatFormat,
    times: Collection[str],
    *,
    split: bool = False,
) -> data.StructLayout:
    """Term that (x) computes from a pair, and that (+) joins.

    Terms of a sum have the binary point behind the two top bits of the significand: products
    are in [1, 4) before the scaling by ``2**exponent``. Terms of a choice have a leading one at
    the top and the binary point behind it, and their exponent is one more if ``raised`` is set;
    the lowest bit of a rounded sum is sticky.
    ``infinite`` and ``nan`` exclude each other; the significand of a zero is zero. With ``split``
    the significand is a product with the lower half of a factor, and ``upper`` that with the upper
    half, to be added :func:`half_width` places higher.
    """
    operand = format_layout(element)
    lowest, highest = element.emin - element.fraction_bits, element.emax + 1
    width, bits = element.significand_bits, exponent_bits(lowest - 1, highest)
    if "add" in times:
        width = max(width, result.significand_bits + 2)  # a guard bit and a sticky bit
    if {"mul", "square_difference"} & set(times):
        width = max(width, 2 * element.significand_bits)
        bits = exponent_bits(2 * lowest - 1, 2 * highest)
    bits = max(bits, operand["exponent"].width + 1)
    fields: dict[str, ShapeLike] = {
        "significand": width,
        "exponent": signed(bits),
        "raised": 1,
        "sign": 1,
        "zero": 1,
        "infinite": 1,
        "nan": 1,
    }
    if split:
        fields["upper"] = 2 * element.significand_bits - half_width(element)
    return data.StructLayout(fields)


def half_width(element: FloatFormat) -> int:
    """Bits of the lower half of a factor."""
    return element.significand_bits // 2
