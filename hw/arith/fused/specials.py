"""Handles NaNs, infinities and signed zeros among the terms of a dot product."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..round import special_layout

__all__ = ["SpecialCases"]


class SpecialCases(wiring.Component):
    """Collects the special values of ``addend + sum(a * b)``.

    Combinational: the special cases of a fused dot product, before any finite arithmetic.

    Parameters
    ----------
    products: number of products
    operand: layout of an unpacked operand
    addend: layout of the unpacked addend

    Members
    -------
    a, b: the operands of the products
    addend: the addend
    o: see :func:`tilewright.hw.arith.round.special_layout`
    """

    verilog_parameters: ClassVar = {"OPERAND_BITS": "operand", "ADDEND_BITS": "addend"}

    def __init__(
        self, products: int, operand: data.StructLayout, addend: data.StructLayout
    ) -> None:
        self._products, self._operand, self._addend = products, operand, addend
        super().__init__(
            {
                "a": In(data.ArrayLayout(operand, products)),
                "b": In(data.ArrayLayout(operand, products)),
                "addend": In(addend),
                "o": Out(special_layout()),
            }
        )

    @property
    def products(self) -> int:
        return self._products

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._products
        invalid, infinite, sign, zero = (
            Signal(n, name=name) for name in ("invalid", "infinite", "sign", "zero")
        )
        for i in range(n):
            a, b = self.a[i], self.b[i]
            m.d.comb += [
                invalid[i].eq(a.nan | b.nan | (a.infinite & b.zero) | (a.zero & b.infinite)),
                infinite[i].eq(a.infinite | b.infinite),
                sign[i].eq(a.sign ^ b.sign),
                zero[i].eq(a.zero | b.zero),
            ]
        positive = Signal()
        negative = Signal()
        c = self.addend
        m.d.comb += [
            positive.eq((infinite & ~sign).any() | (c.infinite & ~c.sign)),
            negative.eq((infinite & sign).any() | (c.infinite & c.sign)),
            self.o.nan.eq(invalid.any() | c.nan | (positive & negative)),
            self.o.infinite.eq(positive | negative),
            self.o.negative.eq(negative),
            self.o.negative_zero.eq((zero & sign).all() & c.zero & c.sign),
        ]
        return m
