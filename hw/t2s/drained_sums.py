"""Sums of a processing element that leave from where they are."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.ring import moved_count

__all__ = ["DrainedSums"]


class DrainedSums(wiring.Component):
    """Once all sums of a ring are complete, takes one after the other out of it; meanwhile no
    operation may begin.

    The last of the operations is taken by the ring before the first sum is, and as many sums are
    taken as there are: then the ring is where it was.

    Source: T2S-Tensor, section 3.4.2: draining without overlap.

    Parameters
    ----------
    width: bits of a sum
    sums: how many there are
    latency: cycles from the beginning of an operation to its sum

    Members
    -------
    completing: in; an operation begins that completes a sum. Only without ``drains``
    drains: out; no operation may begin
    sum: in; the ring's next
    takes: out; it is taken
    o: sums
    """

    def __init__(self, width: int, sums: int, *, latency: int) -> None:
        self._sums, self._latency = sums, latency
        super().__init__(
            {
                "completing": In(1),
                "drains": Out(1),
                "sum": In(width),
                "takes": Out(1),
                "o": Out(stream.Signature(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        complete = Signal(range(self._sums + 1))
        complete_next = Signal.like(complete)
        under_way = Signal(self._latency)
        m.d.sync += under_way.eq(Cat(self.completing, under_way)[: self._latency])
        m.d.comb += [
            complete_next.eq(moved_count(complete, self.completing, self.takes)),
            self.o.valid.eq(self.drains & ~under_way.any()),
            self.o.payload.eq(self.sum),
            self.takes.eq(self.o.valid & self.o.ready),
        ]
        begins, ends = complete_next == self._sums, complete_next == 0
        m.d.sync += [complete.eq(complete_next), self.drains.eq(Mux(self.drains, ~ends, begins))]
        return m
