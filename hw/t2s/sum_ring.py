"""The sums of a processing element."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.t2s.timing import FEW_SUMS, interlocked
from ..stream.ring import moved_count, ring_address

__all__ = ["SumRing"]


class SumRing(wiring.Component):
    """A ring of sums: each operation takes the one at the next place, and writes it back later.

    Many sums are in a memory that is read a cycle ahead, few in one that is read without a clock.
    Where a sum would be taken again before it has been written back, operations are counted from
    ``started`` to ``done``, and there are never more of them than sums.

    A sum that was never written, or was written before a reset, means nothing.

    Parameters
    ----------
    width: bits of a sum
    sums: how many there are
    latency: cycles from ``take`` to ``done``
    lead: cycles from ``started`` to ``take``

    Members
    -------
    started: in; an operation begins. Only if ``free``
    free: out; another operation may
    take: in; an operation takes ``sum``, the one at its place; ``lead`` cycles after ``started``
    sum: out; of the operation that takes one next
    done: in; the sum of the oldest operation is ``result``
    result: in
    """

    def __init__(self, width: int, sums: int, *, latency: int, lead: int = 0) -> None:
        self._width, self._sums, self._latency, self._lead = width, sums, latency, lead
        super().__init__(
            {
                "started": In(1),
                "free": Out(1),
                "take": In(1),
                "sum": Out(width),
                "done": In(1),
                "result": In(width),
            }
        )

    @property
    def sums(self) -> int:
        return self._sums

    @property
    def interlocked(self) -> bool:
        """Whether operations wait for others."""
        return interlocked(self._sums, self._latency)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._sums == 1:
            self._one_sum(m)
        elif self._sums <= FEW_SUMS or self.interlocked:
            self._read_at_once(m)
        else:
            self._read_ahead(m)
        m.d.comb += self.free.eq(1)
        if self.interlocked:
            under_way = Signal(range(self._sums + 1))
            m.d.sync += under_way.eq(moved_count(under_way, self.started, self.done))
            m.d.comb += self.free.eq(under_way != self._sums)
        return m

    def _one_sum(self, m: Module) -> None:
        held = Signal(self._width, reset_less=True)
        with m.If(self.done):
            m.d.sync += held.eq(self.result)
        m.d.comb += self.sum.eq(held)

    def _read_at_once(self, m: Module) -> None:
        storage = self._storage(m)
        read = storage.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(ring_address(m, "taken_place", self._sums, advance=self.take)),
            self.sum.eq(read.data),
        ]

    def _read_ahead(self, m: Module) -> None:
        """With a sum that is taken the next one is read: operation n has that of place n - 1."""
        storage = self._storage(m, ahead=1)
        read = storage.read_port()
        m.d.comb += [
            read.addr.eq(ring_address(m, "next_place", self._sums, advance=self.take)),
            read.en.eq(self.take),
            self.sum.eq(read.data),
        ]

    def _storage(self, m: Module, ahead: int = 0) -> Memory:
        """The memory, with what is done written to it: operation n to place n - ``ahead``."""
        m.submodules.storage = storage = Memory(
            shape=unsigned(self._width), depth=self._sums, init=[]
        )
        write = storage.write_port()
        begin = (self._sums - ahead) % self._sums
        place = ring_address(m, "done_place", self._sums, advance=self.done, begin=begin)
        m.d.comb += [
            write.en.eq(self.done),
            write.addr.eq(place),
            write.data.eq(self.result),
        ]
        return storage
