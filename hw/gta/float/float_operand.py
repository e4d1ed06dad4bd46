"""A packed float of one of several formats, taken apart."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat
from .headers import operand_header, widened_exponent, widest

__all__ = ["FloatOperand"]


class FloatOperand(wiring.Component):
    """Header and significand of a packed float, whatever its format.

    Combinational. The significand's hidden bit, clear in subnormal numbers, stands in the top bit
    for every format, zeros below the last bit: products of such significands have their binary
    point at one place. The exponent is biased as in the widest format.

    Parameters
    ----------
    formats: that the word may have

    Members
    -------
    word: the float, in the low bits
    format: its number among ``formats`` (one format: of no meaning)
    header: see ``operand_header``
    significand: with the hidden bit
    """

    def __init__(self, formats: Sequence[FloatFormat]) -> None:
        self._formats = tuple(formats)
        if not self._formats:
            raise ValueError("`formats` must name at least one format, not none")
        self._exponent_bits = widest(self._formats).exponent_bits
        self._significand_bits = max(fmt.significand_bits for fmt in self._formats)
        super().__init__(
            {
                "word": In(max(fmt.bits for fmt in self._formats)),
                "format": In(max(1, (len(self._formats) - 1).bit_length())),
                "header": Out(operand_header(self._exponent_bits)),
                "significand": Out(self._significand_bits),
            }
        )

    @property
    def formats(self) -> tuple[FloatFormat, ...]:
        return self._formats

    def elaborate(self, platform: object) -> Module:
        m = Module()
        hidden = Signal()
        all_ones = Signal()
        biased = Signal(self._exponent_bits)
        fraction = Signal(self._significand_bits - 1)
        with m.Switch(self.format):
            for number, fmt in enumerate(self._formats):
                last = number == len(self._formats) - 1
                with m.Default() if last else m.Case(number):
                    field = self.word[fmt.fraction_bits : fmt.bits - 1]
                    below = C(0, len(fraction) - fmt.fraction_bits)
                    m.d.comb += [
                        self.header.negative.eq(self.word[fmt.bits - 1]),
                        hidden.eq(field.any()),
                        all_ones.eq(field.all()),
                        biased.eq(widened_exponent(field, self._exponent_bits)),
                        fraction.eq(Cat(below, self.word[: fmt.fraction_bits])),
                    ]
        m.d.comb += [
            self.significand.eq(Cat(fraction, hidden)),
            # A subnormal number's exponent is that of 1, whose lowest bit alone differs from 0's.
            self.header.exponent.eq(Cat(biased[0] | ~hidden, biased[1:])),
            self.header.zero.eq(~hidden & ~fraction.any()),
            self.header.infinite.eq(all_ones & ~fraction.any()),
            self.header.nan.eq(all_ones & fraction.any()),
        ]
        return m
