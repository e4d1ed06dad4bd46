"""What a sum begins with."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from .selection import one_of

__all__ = ["FirstAddend"]

_NARROW = 32


class FirstAddend(wiring.Component):
    """Takes it from one of the columns, or 0 from none, or what vectors begin with.

    Latency one cycle. The register has no reset.

    Parameters
    ----------
    bits: of sums
    columns: how many there are
    narrow: of them, the first ones, that may have fp32 sums

    Members
    -------
    here: in; a bit a column: a sum of a matrix begins with its word
    words: in; by column, fp64, or fp32 if all sums are
    wide, narrow_words: (sums of both) in; sums are fp64; by column, fp32
    planes: in; of vectors; otherwise 0
    o: out; register
    """

    def __init__(self, bits: int, columns: int, narrow: int) -> None:
        self._bits, self._columns, self._narrow = bits, columns, narrow
        members: dict[str, Member] = {
            "here": In(columns),
            "words": In(data.ArrayLayout(bits, columns)),
            "planes": In(bits),
            "o": Out(bits),
        }
        if self.mixed:
            members |= {"wide": In(1), "narrow_words": In(data.ArrayLayout(_NARROW, narrow))}
        super().__init__(members)

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def columns(self) -> int:
        return self._columns

    @property
    def narrow(self) -> int:
        return self._narrow

    @property
    def mixed(self) -> bool:
        """Whether there are fp64 and fp32 sums."""
        return self._bits > _NARROW and self._narrow > 0

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = one_of([self.here[k] for k in range(self._columns)], list(self.words))
        if self.mixed:
            narrow = [self.here[k] for k in range(self._narrow)]
            low = Mux(self.wide, found[:_NARROW], one_of(narrow, list(self.narrow_words)))
            found = Cat(low, found[_NARROW:])
        addend = Signal(self._bits, name="addend", reset_less=True)
        m.d.sync += addend.eq(found | self.planes)
        m.d.comb += self.o.eq(addend)
        return m
