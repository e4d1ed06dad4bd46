"""What an operand and a product of floats are beside their significands."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.lib import data

from ...spec.formats import FloatFormat

__all__ = ["operand_header", "product_header", "widest"]


def widest(formats: Sequence[FloatFormat]) -> FloatFormat:
    """The format with the most exponent bits, and among those with the most significand bits."""
    return max(formats, key=lambda fmt: (fmt.exponent_bits, fmt.significand_bits))


def operand_header(exponent_bits: int) -> data.StructLayout:
    """A float without its significand.

    ``exponent`` is biased as in a format of so many exponent bits, and that of the smallest normal
    number for subnormal ones; ``zero``, ``infinite`` and ``nan`` exclude each other, and the
    exponent of an infinity or NaN is arbitrary.
    """
    return data.StructLayout(
        {"negative": 1, "exponent": exponent_bits, "zero": 1, "infinite": 1, "nan": 1}
    )


def product_header(exponent_bits: int) -> data.StructLayout:
    """A product of two floats without its significand.

    ``exponent`` is the sum of the two operands' and one: that is a product's exponent with
    ``2 ** exponent_bits - 1`` added, its significand in 0..4. ``nan`` stands for an infinity times
    zero, too.
    """
    return data.StructLayout(
        {"negative": 1, "exponent": exponent_bits + 1, "zero": 1, "infinite": 1, "nan": 1}
    )
