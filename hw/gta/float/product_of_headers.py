"""The header of a product of floats."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .headers import operand_header, product_header

__all__ = ["ProductOfHeaders"]


class ProductOfHeaders(wiring.Component):
    """Sign, exponent and class of ``x * y``.

    Combinational.

    Parameters
    ----------
    exponent_bits: of the operands' exponents

    Members
    -------
    x, y: see ``operand_header``
    o: see ``product_header``
    """

    def __init__(self, exponent_bits: int) -> None:
        self._exponent_bits = exponent_bits
        operand = operand_header(exponent_bits)
        super().__init__(
            {"x": In(operand), "y": In(operand), "o": Out(product_header(exponent_bits))}
        )

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y = self.x, self.y
        # The one that is added comes in as a carry.
        total = Cat(1, x.exponent) + Cat(1, y.exponent)
        m.d.comb += [
            self.o.negative.eq(x.negative ^ y.negative),
            self.o.exponent.eq(total[1:]),
            self.o.zero.eq(x.zero | y.zero),
            self.o.infinite.eq(x.infinite | y.infinite),
            self.o.nan.eq(x.nan | y.nan | (x.infinite & y.zero) | (x.zero & y.infinite)),
        ]
        return m
