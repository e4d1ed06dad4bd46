"""A bank of w of which a part is on chip."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from ..held.first_values import first_layout
from ..held.late_sums import LateSums, line_layout
from ..held.layouts import late_layout, sided_layout, slot_bits
from ..operators import semiring_range
from .layouts import slot_of, tag_layout, tag_of, tag_write_layout, used_layout, wanted_layout

__all__ = ["CachedSums"]


class CachedSums(wiring.Component):
    """:class:`LateSums` of what is on chip: an element waits, and those behind it, until its row of
    w is. An element a cycle; latency a cycle more.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; elements are taken
    semiring: in; its number among ``config.operators``, constant during a pass
    i: stream of elements, see :func:`sided_layout`
    z: in; see :func:`line_layout`; a side in ``sides`` must not be written
    sides: out; by side of z, whether the element that waits needs it
    wants: out; see :func:`wanted_layout`: the row that is not on chip
    uses: out; see :func:`used_layout`: the slot of a row that is, and must stay
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
        m.submodules.sums = sums = LateSums(config)
        head = Signal(self.i.payload.shape(), reset_less=True)
        waits = Signal()
        hits = Signal()
        comes = Signal()
        goes = Signal()
        late = head.late
        m.submodules.tags = tags = Memory(
            shape=tag_layout(config), depth=1 << slot_bits(config), init=[]
        )
        write = tags.write_port()
        place = Mux(comes, self.i.payload.late.place, late.place)
        (word,) = reads_with_writes(m, tags, write, {"head": slot_of(config, place)})
        found = Signal(tag_layout(config))
        m.d.comb += [
            write.en.eq(self.tags.valid),
            write.addr.eq(self.tags.slot),
            write.data.eq(self.tags.has),
            found.eq(word),
            hits.eq(found.present & (found.tag == tag_of(config, late.place))),
            sums.i.valid.eq(waits & hits & ~self.holds),
            goes.eq(sums.i.valid & sums.i.ready),
            self.i.ready.eq(self.opens & (goes | ~waits)),
            comes.eq(self.i.valid & self.i.ready),
            sums.i.payload.side.eq(head.side),
            sums.i.payload.late.row.eq(late.row),
            sums.i.payload.late.place.eq(slot_of(config, late.place)),
            sums.i.payload.late.value.eq(late.value),
            self.sides.eq(Cat(waits & ~head.side, waits & head.side)),
            self.wants.valid.eq(waits & ~hits),
            self.wants.place.eq(late.place),
            self.uses.valid.eq(waits & hits),
            self.uses.slot.eq(slot_of(config, late.place)),
            self.idle.eq(sums.idle & ~waits),
        ]
        with m.If(comes):
            m.d.sync += head.eq(self.i.payload)
        with m.If(self.clear):
            m.d.sync += waits.eq(0)
        with m.Else():
            m.d.sync += waits.eq(comes | (waits & ~goes))
        for name in ("semiring", "z", "first", "reads", "place", "clear"):
            m.d.comb += getattr(sums, name).eq(getattr(self, name))
        m.d.comb += self.value.eq(sums.value)
        return m
