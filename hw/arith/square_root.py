"""The square root of a float, a digit a cycle."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed

from ..spec.formats import FloatFormat
from .iterative import IterativeOperator
from .unpack import Unpack

__all__ = ["FloatSquareRoot"]


class FloatSquareRoot(IterativeOperator):
    """Computes ``o = RNE(sqrt(a))`` by trial subtraction.

    IEEE 754 in every case, with the canonical NaN: of a negative number too, but that of -0 is -0.
    A bit of the root a cycle.

    Parameters
    ----------
    format: of the operand and of the result

    Members
    -------
    start: takes a; if it comes before ``done``, what was begun is given up
    a: the radicand
    done: set for one cycle, ``cycles`` behind ``start``
    o: the root, from ``done`` until something else is started
    """

    def __init__(self, format: FloatFormat) -> None:
        # One after the last place; the first is never zero.
        super().__init__(format, ("a",), format.significand_bits + 1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, digits = self._format, self._digits
        m.submodules.unpack_a = unpack_a = Unpack(fmt)
        a = unpack_a.o
        odd = a.exponent[0]
        radicand = Signal(2 * digits, reset_less=True)
        rest = Signal(digits + 1, reset_less=True)
        root = Signal(digits, reset_less=True)
        exponent = Signal(signed(len(a.exponent)), reset_less=True)
        kept = {
            name: Signal(name=f"result_{name}", reset_less=True)
            for name in ("negative", "zero", "nan", "infinite")
        }
        # Two more bits of the radicand, and the growth of the root's square by another one.
        wider = Signal(digits + 3)
        difference = Signal(signed(digits + 4))
        fits = Signal()
        m.d.comb += [
            unpack_a.i.eq(self.a),
            wider.eq(Cat(radicand[-2:], rest)),
            difference.eq(wider - Cat(C(1, 2), root)),
            fits.eq(~difference[-1]),
        ]
        with m.If(self._count(m)):
            m.d.sync += [
                rest.eq(Mux(fits, difference, wider)),
                root.eq(Cat(fits, root)[: len(root)]),
                radicand.eq(Cat(C(0, 2), radicand)[: len(radicand)]),
            ]
        low = len(radicand) - fmt.significand_bits - 1
        with m.If(self.start):
            m.d.sync += [
                # An odd exponent is reduced by one, which doubles the radicand: it is below 4.
                radicand.eq(Cat(C(0, low), Mux(odd, Cat(C(0, 1), a.significand), a.significand))),
                rest.eq(0),
                root.eq(0),
                exponent.eq(a.exponent[1:].as_signed()),
                kept["negative"].eq(a.sign),
                kept["zero"].eq(a.zero),
                kept["nan"].eq(a.nan | (a.sign & ~a.zero)),
                kept["infinite"].eq(a.infinite),
            ]
        self._round(m, root, rest.any(), exponent, kept)
        return m
