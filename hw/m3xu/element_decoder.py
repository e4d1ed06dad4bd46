"""One operand element, in any of a unit's formats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith.shift import normalise
from ..arith.unpacked import exponent_bits, unpacked_layout
from ..spec.formats import FloatFormat

__all__ = ["ElementDecoder"]


class ElementDecoder(wiring.Component):
    """Unpacks a word that holds a float of one of several formats, and normalises it.

    Combinational. One normaliser serves all formats.

    Parameters
    ----------
    formats: the formats by name of their select bit; a value fills the low
        ``container_bits`` of the word

    Members
    -------
    word: the operand, as wide as the widest container
    select: one bit a format, in the order of ``formats``; with none set the element is +0
    o: the unpacked element; its significand is left-aligned
    """

    def __init__(self, formats: Mapping[str, FloatFormat]) -> None:
        self._formats = dict(formats)
        rows = self._formats.values()
        self._significand_bits = max(fmt.significand_bits for fmt in rows)
        lowest = min(fmt.emin - fmt.fraction_bits for fmt in rows)
        width = exponent_bits(lowest, max(fmt.emax for fmt in rows))
        super().__init__(
            {
                "word": In(max(fmt.container_bits for fmt in rows)),
                "select": In(len(self._formats)),
                "o": Out(unpacked_layout(width, self._significand_bits)),
            }
        )

    @property
    def formats(self) -> dict[str, FloatFormat]:
        return dict(self._formats)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        views = [
            self._view(m, name, fmt, self.select[i])
            for i, (name, fmt) in enumerate(self._formats.items())
        ]
        hidden, sign, top, fraction, exponent = (
            reduce(or_, values) for values in zip(*views, strict=True)
        )
        raw = Signal(self._significand_bits)
        unscaled = Signal(signed(self.o.shape()["exponent"].width))
        no_fraction = Signal()
        m.d.comb += [
            raw.eq(Cat(fraction, hidden)),
            unscaled.eq(exponent),
            no_fraction.eq(~fraction.any()),
        ]
        significand, leading_zeros = normalise(m, raw, name="significand")
        m.d.comb += [
            self.o.significand.eq(significand),
            self.o.exponent.eq(unscaled - leading_zeros),
            self.o.sign.eq(sign),
            self.o.zero.eq(~hidden & no_fraction),
            self.o.infinite.eq(top & no_fraction),
            self.o.nan.eq(top & ~no_fraction),
        ]
        return m

    def _view(self, m: Module, name: str, fmt: FloatFormat, select: Value) -> tuple[Value, ...]:
        """Hidden bit, sign, "exponent all ones", fraction and exponent, zero if not selected."""
        word = self.word[: fmt.container_bits][fmt.padding_bits :]
        fraction_bits = self._significand_bits - 1
        biased = word[fmt.fraction_bits : -1]
        hidden = Signal(name=f"{name}_hidden")
        exponent = Signal(signed(self.o.shape()["exponent"].width), name=f"{name}_exponent")
        m.d.comb += [
            hidden.eq(biased.any()),
            exponent.eq(Mux(hidden, biased, 1) - fmt.bias),
        ]
        fraction = Cat(C(0, fraction_bits - fmt.fraction_bits), word[: fmt.fraction_bits])
        return (
            hidden & select,
            word[-1] & select,
            biased.all() & select,
            fraction & select.replicate(fraction_bits),
            exponent & select.replicate(len(exponent)),
        )
