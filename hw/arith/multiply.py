"""Floating-point multiplication, rounded once."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .round import NormaliseSum, RoundPack, exponent_limit
from .unpack import Unpack

__all__ = ["FloatMultiply"]


class FloatMultiply(wiring.Component):
    """``o = RNE(a * b)``.

    Combinational; IEEE 754 in every case, with the canonical NaN.

    Parameters
    ----------
    operand: format of a and b
    result: format of the product; default: the operands'

    Members
    -------
    a, b: the operands
    o: the product
    """

    def __init__(self, operand: FloatFormat, result: FloatFormat | None = None) -> None:
        self._operand = operand
        self._result = result or operand
        super().__init__(
            {"a": In(operand.bits), "b": In(operand.bits), "o": Out(self._result.bits)}
        )

    @property
    def operand(self) -> FloatFormat:
        return self._operand

    @property
    def result(self) -> FloatFormat:
        return self._result

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unpack_a = a = Unpack(self._operand)
        m.submodules.unpack_b = b = Unpack(self._operand)
        limit = exponent_limit(self._result, a.o.exponent + b.o.exponent, head_bits=2)
        m.submodules.normalise = normalise = NormaliseSum(
            self._result,
            sum_bits=2 * self._operand.significand_bits + 1,
            limit_bits=len(limit),
        )
        m.submodules.round = rounder = RoundPack(self._result)
        sign = a.o.sign ^ b.o.sign
        m.d.comb += [
            a.i.eq(self.a),
            b.i.eq(self.b),
            normalise.total.eq(Cat(a.o.significand * b.o.significand, 0)),
            normalise.limit.eq(limit),
            normalise.flip.eq(sign),
            normalise.negative_zero.eq(sign),
            rounder.i.eq(normalise.o),
            rounder.special.infinite.eq(a.o.infinite | b.o.infinite),
            rounder.special.negative.eq(sign),
            rounder.special.nan.eq(
                a.o.nan | b.o.nan | (a.o.infinite & b.o.zero) | (a.o.zero & b.o.infinite)
            ),
            self.o.eq(rounder.o),
        ]
        return m
