"""An element, and whether its row of w is on chip."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from ..held.layouts import late_layout, sided_layout, slot_bits
from .layouts import slot_of, tag_layout, tag_of, tag_write_layout, used_layout, wanted_layout

__all__ = ["WaitingElement"]


class WaitingElement(wiring.Component):
    """Holds an element until its row is on chip, or it need not wait. An element a cycle; latency a
    cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; elements are taken
    i, o: streams of elements, see :func:`sided_layout`; one that does not go on may not be offered
        any more
    passes: in; the element goes on without its row
    holds: in; none goes on
    wants: out; see :func:`wanted_layout`: the row that is not on chip
    uses: out; see :func:`used_layout`: the slot of a row that is
    tags: in; see :func:`tag_write_layout`; what a slot has
    clear: in; forgets the element; not what slots have
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        element = stream.Signature(sided_layout(late_layout(config)))
        super().__init__(
            {
                "opens": In(1),
                "i": In(element),
                "o": Out(element),
                "passes": In(1),
                "holds": In(1),
                "wants": Out(wanted_layout(config)),
                "uses": Out(used_layout(config)),
                "tags": In(tag_write_layout(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        element = Signal(self.i.payload.shape(), reset_less=True)
        waits = Signal()
        comes = Signal()
        goes = Signal()
        here = element.late.place
        m.submodules.tags = tags = Memory(
            shape=tag_layout(config), depth=1 << slot_bits(config), init=[]
        )
        write = tags.write_port()
        place = Mux(comes, self.i.payload.late.place, here)
        (word,) = reads_with_writes(m, tags, write, {"element": slot_of(config, place)})
        has = Signal(tag_layout(config))
        hits = has.present & (has.tag == tag_of(config, here))
        m.d.comb += [
            write.en.eq(self.tags.valid),
            write.addr.eq(self.tags.slot),
            write.data.eq(self.tags.has),
            has.eq(word),
            self.o.valid.eq(waits & (hits | self.passes) & ~self.holds),
            self.o.payload.eq(element),
            goes.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(self.opens & (goes | ~waits)),
            comes.eq(self.i.valid & self.i.ready),
            self.wants.valid.eq(waits & ~hits & ~self.passes),
            self.wants.place.eq(here),
            self.uses.valid.eq(waits & hits),
            self.uses.slot.eq(slot_of(config, here)),
        ]
        with m.If(comes):
            m.d.sync += element.eq(self.i.payload)
        with m.If(self.clear):
            m.d.sync += waits.eq(0)
        with m.Else():
            m.d.sync += waits.eq(comes | (waits & ~goes))
        return m
