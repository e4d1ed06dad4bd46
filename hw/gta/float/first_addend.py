"""What a sum begins with."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .headers import vector_mode
from .selection import one_of

__all__ = ["FirstAddend"]

_NARROW = 32
_HALF = 16


class FirstAddend(wiring.Component):
    """Takes it from one of the columns, or 0 from none.

    Latency one cycle. Of vectors of fp64 the two halves of 32 bits come one after the other, the
    lower one first, each in both halves of ``words``.

    Parameters
    ----------
    bits: of sums
    columns: how many there are

    Members
    -------
    mode: in; see ``vector_mode``
    words: in; by column, fp32 in the low bits
    here: in; a bit a column: it begins with its word
    soon: in; likewise, a cycle before
    upper: in; of sums of bf16 and fp16: these are above the low 16 bits
    o: out; register
    """

    def __init__(self, bits: int, columns: int) -> None:
        self._bits, self._columns = bits, columns
        super().__init__(
            {
                "mode": In(vector_mode()),
                "words": In(data.ArrayLayout(bits, columns)),
                "here": In(columns),
                "soon": In(columns),
                "upper": In(1),
                "o": Out(bits),
            }
        )

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def columns(self) -> int:
        return self._columns

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = range(self._columns)
        first: Value = self.here
        wide = self._bits > _NARROW
        if wide:
            halves = Signal(name="halves")
            m.d.comb += halves.eq(self.mode.active & self.mode.fp64)
            first = Mux(halves, self.soon, self.here)
        lower = one_of([first[k] for k in columns], [self.words[k][:_NARROW] for k in columns])
        low = Mux(self.mode.own & self.upper, lower[_HALF:], lower[:_HALF])
        found: Value = Cat(low, lower[_HALF:])
        if wide:
            before = Signal(_NARROW, name="lower_half", reset_less=True)
            m.d.sync += before.eq(lower)
            upper = one_of(
                [self.here[k] for k in columns], [self.words[k][_NARROW:] for k in columns]
            )
            found = Cat(Mux(halves, before, found), upper)
        m.d.sync += self.o.eq(found)
        return m
