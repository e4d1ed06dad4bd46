"""Which sorting queue has the fewest entries."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["QueueOrder"]

_Places = Sequence[data.View]


class QueueOrder(wiring.Component):
    """The primary queues that hold a partial row, by length; equals by age.

    A sorted list. A queue that has been written goes behind all that are no longer than it, so
    that of equally long ones that comes first which was written longest ago. While not all
    are written the list grows; after that the first one, which was merged into the new one,
    leaves it. So the next merge is known in the cycle after the last one's end.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    queues: sorting queues, the helper included
    depth: entries of a queue

    Members
    -------
    insert: in; the queue ``queue`` of ``length`` entries has been written
    clear: in; no queue is written, also if ``insert`` is set
    shortest: out; the queue of the fewest entries
    full: out; all queues but the helper are in the list: the next insertion is a merge's
    """

    def __init__(self, queues: int, depth: int) -> None:
        self._queues = queues
        self._depth = depth
        super().__init__(
            {
                "insert": In(1),
                "queue": In(range(queues)),
                "length": In(range(depth + 1)),
                "clear": In(1),
                "shortest": Out(range(queues)),
                "full": Out(1),
            }
        )

    @property
    def queues(self) -> int:
        return self._queues

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout({"queue": range(self._queues), "length": range(self._depth + 1)})
        count = self._queues - 1
        places = [Signal(layout, name=f"place_{n}", reset_less=True) for n in range(count)]
        inserted = Signal(layout)
        used = Signal(count)
        # Set for the first ones of the list.
        stays = Signal(count)
        m.d.comb += [
            inserted.queue.eq(self.queue),
            inserted.length.eq(self.length),
            self.shortest.eq(places[0].queue),
            self.full.eq(used[-1]),
        ]
        for n, place in enumerate(places):
            m.d.comb += stays[n].eq(used[n] & (place.length <= self.length))
        with m.If(self.clear):
            m.d.sync += used.eq(0)
        with m.Elif(self.insert):
            m.d.sync += used.eq(Cat(1, used))
        with m.If(self.insert & self.full):
            self._replace_first(m, places, inserted, stays)
        with m.Elif(self.insert):
            self._add(m, places, inserted, stays)
        return m

    def _replace_first(
        self, m: Module, places: _Places, inserted: data.View, stays: Signal
    ) -> None:
        """Those before the new one move up by a place."""
        # The first one leaves, whatever its length.
        with m.If(stays[1]):
            m.d.sync += places[0].eq(places[1])
        with m.Else():
            m.d.sync += places[0].eq(inserted)
        for n in range(1, len(places) - 1):
            with m.If(stays[n + 1]):
                m.d.sync += places[n].eq(places[n + 1])
            with m.Elif(stays[n]):
                m.d.sync += places[n].eq(inserted)
        with m.If(stays[-1]):
            m.d.sync += places[-1].eq(inserted)

    def _add(self, m: Module, places: _Places, inserted: data.View, stays: Signal) -> None:
        """Those behind the new one move down by a place."""
        with m.If(~stays[0]):
            m.d.sync += places[0].eq(inserted)
        for n in range(1, len(places)):
            with m.If(~stays[n - 1]):
                m.d.sync += places[n].eq(places[n - 1])
            with m.Elif(~stays[n]):
                m.d.sync += places[n].eq(inserted)
