"""The frame of operators that take a digit of their result a cycle."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .pipeline import Bundle, Pipeline
from .round import exponent_limit, normalise_and_round
from .unpack import Unpack

_ROUNDING: dict[int, tuple[str, ...]] = {2: ("shifted", "result")}


class IterativeOperator(wiring.Component):
    """Base of operators that find a digit of their result a cycle and then round it.

    Parameters
    ----------
    format: of the operands and of the result
    operands: names of the operands
    digits: cycles of the iteration

    Members
    -------
    start: takes the operands; if it comes before ``done``, what was begun is given up
    done: set for one cycle, ``cycles`` behind ``start``
    o: the result, from ``done`` until something else is started
    """

    def __init__(self, format: FloatFormat, operands: tuple[str, ...], digits: int) -> None:
        self._format, self._digits = format, digits
        super().__init__(
            {
                "start": In(1),
                **{name: In(format.bits) for name in operands},
                "done": Out(1),
                "o": Out(format.bits),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def cycles(self) -> int:
        """Cycles from ``start`` to ``done``."""
        return self._digits + 1 + len(_ROUNDING[2])

    def _count(self, m: Module) -> Value:
        """Sets ``done``; whether a digit is to be found in this cycle."""
        left = Signal(range(self._digits + 1))
        works = Signal()
        ends = Signal(1 + len(_ROUNDING[2]))
        m.d.comb += [works.eq(left != 0), self.done.eq(ends[-1])]
        m.d.sync += [left.eq(Mux(works, left - 1, 0)), ends.eq(Cat(left == 1, ends[:-1]))]
        with m.If(self.start):
            m.d.sync += [left.eq(self._digits), ends.eq(0)]
        return works

    def _round(
        self, m: Module, digits: Value, rest: Value, exponent: Value, bundle: Bundle
    ) -> None:
        """Sets ``o``.

        Parameters
        ----------
        digits: of the result's magnitude, the first of weight ``2**exponent``
        rest: whether there are more behind them
        bundle: ``negative``, ``zero``, ``nan``, ``infinite``, from registers
        """
        pipeline = Pipeline(m, len(_ROUNDING[2]), C(1), _ROUNDING)
        total = Mux(bundle["zero"], 0, Cat(rest, digits, 0))
        given = {
            "total": total,
            "limit": exponent_limit(self._format, exponent, head_bits=1),
            "flip": bundle["negative"],
            "negative_zero": bundle["negative"],
            "nan": bundle["nan"],
            "infinite": bundle["infinite"],
            "negative": bundle["negative"],
        }
        m.d.comb += self.o.eq(normalise_and_round(m, given, self._format, pipeline))


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
