"""A delay of many cycles, in a memory."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .ring import ring_address

__all__ = ["DelayRing"]


class DelayRing(wiring.Component):
    """Delays ``i`` by ``cycles`` cycles; the first outputs are undefined.

    Parameters
    ----------
    width: bits
    cycles: at least 2

    Members
    -------
    i, o: in, and the same later
    """

    verilog_parameters: ClassVar = {"WIDTH": "width"}

    def __init__(self, width: int, cycles: int) -> None:
        self._width, self._cycles = width, cycles
        if cycles < 2:
            raise ValueError(f"`cycles` must be at least 2, not {cycles}")
        super().__init__({"i": In(width), "o": Out(width)})

    @property
    def width(self) -> int:
        return self._width

    @property
    def cycles(self) -> int:
        return self._cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A word is read one round after its write, and stays in the port's register for a cycle.
        depth = self._cycles - 1
        m.submodules.words = words = Memory(shape=unsigned(self._width), depth=depth, init=[])
        write, read = words.write_port(), words.read_port()
        place = ring_address(m, "place", depth, advance=1)
        m.d.comb += [
            write.en.eq(1),
            write.addr.eq(place),
            write.data.eq(self.i),
            read.en.eq(1),
            read.addr.eq(place),
            self.o.eq(read.data),
        ]
        return m
