"""The frame of operators that take a digit of their result a cycle."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .normalise_and_round import normalise_and_round
from .pipeline import Bundle, Pipeline
from .round import exponent_limit

__all__ = ["IterativeOperator"]

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
