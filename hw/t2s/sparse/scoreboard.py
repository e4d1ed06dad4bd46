"""Which sums operations under way will write."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Scoreboard"]


class Scoreboard(wiring.Component):
    """Keeps operations apart that take the same sum.

    No latency: ``free`` is of what is at ``place``, in the same cycle. A comparison a cycle that an
    operation is under way.

    Parameters
    ----------
    bits: of a place
    cycles: from an operation to the next one with the same sum, at least; at least 2

    Members
    -------
    place: in; of the sum that an operation would take
    started: in; it begins. Only if ``free``
    free: out; none has begun with the same place in the last ``cycles`` - 1 cycles
    """

    def __init__(self, bits: int, cycles: int) -> None:
        self._bits, self._cycles = bits, cycles
        super().__init__({"place": In(bits), "started": In(1), "free": Out(1)})

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def cycles(self) -> int:
        return self._cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        same: list[Value] = []
        begun: Value = self.started
        place: Value = self.place
        for age in range(1, self._cycles):
            was_begun = Signal(name=f"begun_{age}")
            was_place = Signal(self._bits, name=f"place_{age}", reset_less=True)
            m.d.sync += [was_begun.eq(begun), was_place.eq(place)]
            same.append(was_begun & (was_place == self.place))
            begun, place = was_begun, was_place
        m.d.comb += self.free.eq(~reduce(or_, same))
        return m
