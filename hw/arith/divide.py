"""Floating-point division, a digit of the quotient a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed

from ..spec.formats import FloatFormat
from .iterative import IterativeOperator
from .unpack import Unpack

__all__ = ["FloatDivide"]


class FloatDivide(IterativeOperator):
    """Computes ``o = RNE(a / b)`` by restoring division.

    IEEE 754 in every case, with the canonical NaN. A bit of the quotient a cycle.

    Parameters
    ----------
    format: of the operands and of the result

    Members
    -------
    start: takes a and b; if it comes before ``done``, what was begun is given up
    a, b: dividend and divisor
    done: set for one cycle, ``cycles`` behind ``start``
    o: the quotient, from ``done`` until something else is started
    """

    def __init__(self, format: FloatFormat) -> None:
        # One before the point, which may be zero, and one after the last place.
        super().__init__(format, ("a", "b"), format.significand_bits + 2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        m.submodules.unpack_a = unpack_a = Unpack(fmt)
        m.submodules.unpack_b = unpack_b = Unpack(fmt)
        a, b = unpack_a.o, unpack_b.o
        m.d.comb += [unpack_a.i.eq(self.a), unpack_b.i.eq(self.b)]
        rest = Signal(fmt.significand_bits + 1, reset_less=True)
        divisor = Signal(fmt.significand_bits, reset_less=True)
        quotient = Signal(self._digits, reset_less=True)
        exponent = Signal(signed(len(a.exponent) + 1), reset_less=True)
        kept = {
            name: Signal(name=f"result_{name}", reset_less=True)
            for name in ("negative", "zero", "nan", "infinite")
        }
        difference = Signal(signed(fmt.significand_bits + 2))
        fits = Signal()
        m.d.comb += [difference.eq(rest - divisor), fits.eq(~difference[-1])]
        with m.If(self._count(m)):
            m.d.sync += [
                rest.eq(Mux(fits, difference, rest).shift_left(1)[: len(rest)]),
                quotient.eq(Cat(fits, quotient)[: len(quotient)]),
            ]
        with m.If(self.start):
            m.d.sync += [
                rest.eq(a.significand),
                divisor.eq(b.significand),
                exponent.eq(a.exponent - b.exponent),
                kept["negative"].eq(a.sign ^ b.sign),
                kept["zero"].eq(a.zero | b.infinite),
                kept["nan"].eq(a.nan | b.nan | (a.zero & b.zero) | (a.infinite & b.infinite)),
                kept["infinite"].eq(a.infinite | b.zero),
            ]
        self._round(m, quotient, rest.any(), exponent, kept)
        return m
