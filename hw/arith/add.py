"""Floating-point addition, rounded once."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .align import Align
from .round import NormaliseSum, RoundPack, exponent_limit
from .unpack import Unpack

__all__ = ["FloatAdd"]


class FloatAdd(wiring.Component):
    """``o = RNE(a + b)``, or ``RNE(a - b)``.

    Combinational; IEEE 754 in every case, with the canonical NaN.

    Parameters
    ----------
    format: format of the operands and of the sum

    Members
    -------
    a, b: the operands
    subtract: negates b
    o: the sum
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "a": In(format.bits),
                "b": In(format.bits),
                "subtract": In(1),
                "o": Out(format.bits),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        # Subnormal operands need no normalising: their leading zeros cost nothing in a sum.
        m.submodules.unpack_a = unpack_a = Unpack(fmt, normalise=False)
        m.submodules.unpack_b = unpack_b = Unpack(fmt, normalise=False)
        a, b = unpack_a.o, unpack_b.o
        sign_b = b.sign ^ self.subtract
        swap = Signal()
        large = Signal(fmt.significand_bits)
        small = Signal(fmt.significand_bits)
        anchor = Signal(signed(len(a.exponent)))
        distance = Signal(fmt.exponent_bits + 1)
        m.d.comb += [
            unpack_a.i.eq(self.a),
            unpack_b.i.eq(self.b),
            swap.eq(b.exponent > a.exponent),
            anchor.eq(Mux(swap, b.exponent, a.exponent)),
            distance.eq(Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent)),
            large.eq(Mux(swap, b.significand, a.significand)),
            small.eq(Mux(swap, a.significand, b.significand)),
        ]
        # Two guard bits: one for a carry-free cancellation, one to round; the rest is sticky.
        window = fmt.significand_bits + 2
        m.submodules.align = align = Align(fmt.significand_bits, window, len(distance))
        total = Signal(signed(window + 2))
        differ = Signal()
        aligned = Cat(C(0, window - fmt.significand_bits), large)
        m.d.comb += [
            align.significand.eq(small),
            align.distance.eq(distance),
            differ.eq(a.sign ^ sign_b),
            total.eq(Mux(differ, aligned - align.window, aligned + align.window)),
        ]
        limit = exponent_limit(fmt, anchor, head_bits=2)
        m.submodules.normalise = normalise = NormaliseSum(
            fmt, sum_bits=len(total), limit_bits=len(limit)
        )
        m.submodules.round = rounder = RoundPack(fmt)
        m.d.comb += [
            normalise.total.eq(total),
            normalise.limit.eq(limit),
            normalise.flip.eq(Mux(swap, sign_b, a.sign)),
            normalise.lost_positive.eq(align.lost & ~differ),
            normalise.lost_negative.eq(align.lost & differ),
            normalise.negative_zero.eq(a.sign & sign_b),
            rounder.i.eq(normalise.o),
            rounder.special.nan.eq(a.nan | b.nan | (a.infinite & b.infinite & differ)),
            rounder.special.infinite.eq(a.infinite | b.infinite),
            rounder.special.negative.eq(Mux(a.infinite, a.sign, sign_b)),
            self.o.eq(rounder.o),
        ]
        return m
