"""A memory of addressed sums."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.t2s.timing import FEW_SUMS

__all__ = ["SumStore"]


class SumStore(wiring.Component):
    """Sums, one of which is read in a cycle, and one is written.

    Many are read a cycle ahead: ``sum`` is what was at ``read_place`` in the last cycle with
    ``reads``. Few are read without a clock, and one is a register: ``sum`` is what is at
    ``read_place``. What is written is there from the next cycle on. A reset leaves all as it is.

    Parameters
    ----------
    width: bits of a sum
    places: how many there are

    Members
    -------
    reads, read_place: in
    sum: out
    writes, write_place, written: in
    """

    def __init__(self, width: int, places: int) -> None:
        self._width, self._places = width, places
        bits = max(1, (places - 1).bit_length())
        super().__init__(
            {
                "reads": In(1),
                "read_place": In(bits),
                "sum": Out(width),
                "writes": In(1),
                "write_place": In(bits),
                "written": In(width),
            }
        )

    @property
    def width(self) -> int:
        return self._width

    @property
    def places(self) -> int:
        return self._places

    @property
    def ahead(self) -> int:
        """Cycles from reading to the sum."""
        return int(self._places > FEW_SUMS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._places == 1:
            held = Signal(self._width, reset_less=True)
            with m.If(self.writes):
                m.d.sync += held.eq(self.written)
            m.d.comb += self.sum.eq(held)
            return m
        m.submodules.storage = storage = Memory(
            shape=unsigned(self._width), depth=self._places, init=[]
        )
        write = storage.write_port()
        read = storage.read_port(domain="sync" if self.ahead else "comb")
        m.d.comb += [
            write.en.eq(self.writes),
            write.addr.eq(self.write_place),
            write.data.eq(self.written),
            read.addr.eq(self.read_place),
            self.sum.eq(read.data),
        ]
        if self.ahead:
            m.d.comb += read.en.eq(self.reads)
        return m
