"""A bank of w of which a part is on chip."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.ring import moved_count
from ..held.first_values import first_layout
from ..held.late_sums import LateSums, line_layout
from ..held.layouts import late_layout, sided_layout, slot_bits
from ..operators import semiring_range
from .layouts import slot_of, tag_write_layout, used_layout, wanted_layout
from .waiting_element import WaitingElement

__all__ = ["CachedSums"]

_AHEAD = 4
"""Elements between the one that waits and the one whose row is asked for."""


class CachedSums(wiring.Component):
    """:class:`LateSums` of what is on chip: an element waits, and those behind it, until its row of
    w is; but the row of an element some places behind is asked for meanwhile. An element a cycle;
    latency five cycles more.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; elements are taken
    semiring: in; its number among ``config.operators``, constant during a pass
    i: stream of elements, see :func:`sided_layout`
    z: in; see :func:`line_layout`; a side in ``sides`` must not be written
    sides: out; by side of z, whether an element that waits needs it
    wants, wants_ahead: out; see :func:`wanted_layout`: a row that is not on chip, which an element
        waits for, or will
    answered: in; the row that will be waited for is on its way, or another one to its slot
    uses: out; see :func:`used_layout`: the slot of a row that is on chip, and must stay
    tags: in; see :func:`tag_write_layout`; what a slot has
    holds: in; no element goes on
    first: in; see :func:`first_layout`; a value of a row that comes on chip; all wait meanwhile
    reads, place, value: see :class:`LateSums`
    idle: out; nothing waits, and nothing is on its way
    clear: in; forgets what is on its way; not what slots have
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "opens": In(1),
                "semiring": In(semiring_range(config.operators)),
                "i": In(stream.Signature(sided_layout(late_layout(config)))),
                "z": In(line_layout(config)),
                "sides": Out(2),
                "wants": Out(wanted_layout(config)),
                "wants_ahead": Out(wanted_layout(config)),
                "answered": In(1),
                "uses": Out(used_layout(config)),
                "tags": In(tag_write_layout(config)),
                "holds": In(1),
                "first": In(first_layout(config)),
                "reads": In(1),
                "place": In(slot_bits(config)),
                "value": Out(config.format.bits),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.ahead = ahead = WaitingElement(config)
        m.submodules.queue = queue = DeepQueue(self.i.payload.shape(), _AHEAD)
        m.submodules.head = head = WaitingElement(config)
        m.submodules.sums = sums = LateSums(config)
        wiring.connect(m, wiring.flipped(self.i), ahead.i)
        wiring.connect(m, ahead.o, queue.i)
        wiring.connect(m, queue.o, head.i)
        for part in (ahead, head):
            m.d.comb += [part.tags.eq(self.tags), part.clear.eq(self.clear)]
        given, late = sums.i.payload, head.o.payload.late
        m.d.comb += [
            ahead.opens.eq(self.opens),
            head.opens.eq(1),
            head.holds.eq(self.holds),
            queue.clear.eq(self.clear),
            self.wants.eq(head.wants),
            self.wants_ahead.eq(ahead.wants),
            self.uses.eq(head.uses),
            sums.i.valid.eq(head.o.valid),
            head.o.ready.eq(sums.i.ready),
            given.side.eq(head.o.payload.side),
            given.late.row.eq(late.row),
            given.late.place.eq(slot_of(config, late.place)),
            given.late.value.eq(late.value),
            self.value.eq(sums.value),
        ]
        for name in ("semiring", "z", "first", "reads", "place", "clear"):
            m.d.comb += getattr(sums, name).eq(getattr(self, name))
        # It is said of the element that is there.
        with m.If(self.clear | (ahead.o.valid & ahead.o.ready)):
            m.d.sync += ahead.passes.eq(0)
        with m.Elif(self.answered):
            m.d.sync += ahead.passes.eq(1)
        self._count(m, head, sums)
        return m

    def _count(self, m: Module, head: WaitingElement, sums: LateSums) -> None:
        """Elements that wait, by their side of z."""
        for side in (0, 1):
            inside = Signal(range(_AHEAD + 4), name=f"inside_{side}")
            comes = self.i.valid & self.i.ready & (self.i.payload.side == side)
            goes = head.o.valid & head.o.ready & (head.o.payload.side == side)
            m.d.sync += inside.eq(moved_count(inside, comes, goes))
            with m.If(self.clear):
                m.d.sync += inside.eq(0)
            m.d.comb += self.sides[side].eq(inside != 0)
        m.d.comb += self.idle.eq(sums.idle & ~self.sides.any())
