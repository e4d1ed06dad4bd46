"""A bank of elements that wait for their row."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from .layouts import (
    bank_words,
    chunk_bits,
    chunks,
    held_layout,
    late_layout,
    panel_bits,
    panels,
)
from .list_reader import ListReader
from .panel_lists import PanelLists
from .scatter_bank import scattered_layout

__all__ = ["HeldBank"]


class HeldBank(wiring.Component):
    """Keeps elements by panel, and gives those of one panel out again, or gives them up.

    Elements of equal ``place`` come out in the order in which they came. An element a cycle goes
    in, and one comes out.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of elements; a mark says that a step's columns are complete
    opens: in; a pass begins
    needs: in; steps
    complete: out; the elements of so many are there
    starved: out; an element waits for space, and there is none
    top: out; with ``starved``, no panel above it has elements here
    order, panel, loses: in, a pulse: the elements of a panel are wanted, or given up if ``loses``
    busy: out; not all of them are gone; no order must be given
    lost: out; whether they had been given up before
    o: stream of elements
    held: out; elements that are here
    clear: in; forgets everything; it is ``busy`` then until the lists are in order
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(scattered_layout(held_layout(config)))),
                "opens": In(1),
                "needs": In(range(panels(config) + 1)),
                "complete": Out(1),
                "starved": Out(1),
                "top": Out(panel_bits(config)),
                "order": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "busy": Out(1),
                "lost": Out(1),
                "o": Out(stream.Signature(late_layout(config))),
                "held": Out(range(bank_words(config) + 1)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.lists = table = PanelLists(config)
        m.submodules.reader = reader = ListReader(config)
        m.d.comb += [table.clear.eq(self.clear), reader.clear.eq(self.clear)]
        used = self._chunks(m, table, reader)
        self._memories(m, table, reader)
        self._orders(m, table, reader)
        steps = Signal.like(self.needs)
        top = Signal(panel_bits(config))
        enters = Signal()
        item = self.i.payload
        m.d.comb += [
            table.i.valid.eq(self.i.valid & item.present),
            table.i.payload.eq(item.payload),
            self.i.ready.eq(table.i.ready | ~item.present),
            enters.eq(self.i.valid & self.i.ready),
            self.complete.eq((steps >= self.needs) & ~table.stays),
            self.starved.eq(table.waits & (used == chunks(config))),
            self.top.eq(top),
        ]
        m.d.sync += steps.eq(steps + (enters & item.mark))
        # A list's panel is known again a cycle later, when it turns out not to be lost.
        newest = Signal(panel_bits(config))
        with m.If(table.i.valid & table.i.ready):
            m.d.sync += newest.eq(item.payload.panel)
        with m.If(table.element.valid & (newest > top)):
            m.d.sync += top.eq(newest)
        with m.If(self.order & self.loses & (top == self.panel) & (top != 0)):
            m.d.sync += top.eq(top - 1)
        with m.If(self.opens | self.clear):
            m.d.sync += [steps.eq(0), top.eq(0)]
        return m

    def _chunks(self, m: Module, table: PanelLists, reader: ListReader) -> Signal:
        """Those that were given back, or else one that was never used; how many are used."""
        count = chunks(self._config)
        m.submodules.free = free = DeepQueue(chunk_bits(self._config), max(2, count))
        fresh = Signal(range(count + 1))
        used = Signal(range(count + 1))
        takes = Signal()
        m.d.comb += [
            # There is room for all.
            free.i.valid.eq(reader.freed),
            free.i.payload.eq(reader.chunk),
            free.clear.eq(self.clear),
            table.chunk.valid.eq(free.o.valid | (fresh != count)),
            table.chunk.payload.eq(Mux(free.o.valid, free.o.payload, fresh)),
            free.o.ready.eq(table.chunk.ready),
            takes.eq(table.chunk.valid & table.chunk.ready),
        ]
        m.d.sync += used.eq(used + takes - reader.freed)
        with m.If(takes & ~free.o.valid):
            m.d.sync += fresh.eq(fresh + 1)
        with m.If(self.clear):
            m.d.sync += [fresh.eq(0), used.eq(0)]
        return used

    def _memories(self, m: Module, table: PanelLists, reader: ListReader) -> None:
        """Elements and the chunks' followers; what is here, counted."""
        config = self._config
        m.submodules.elements = elements = Memory(
            shape=late_layout(config), depth=bank_words(config), init=[]
        )
        m.submodules.links = links = Memory(shape=chunk_bits(config), depth=chunks(config), init=[])
        write, read = elements.write_port(), elements.read_port()
        write_link, read_link = links.write_port(), links.read_port()
        m.d.comb += [
            write.en.eq(table.element.valid),
            write.addr.eq(table.element.place.as_value()),
            write.data.eq(table.element.late),
            write_link.en.eq(table.link.valid),
            write_link.addr.eq(table.link.chunk),
            write_link.data.eq(table.link.follower),
            read_link.en.eq(reader.link),
            read_link.addr.eq(reader.link_chunk),
            reader.follower.eq(read_link.data),
            reader.room.eq(~self.o.valid | self.o.ready),
            read.en.eq(reader.read),
            read.addr.eq(reader.place.as_value()),
            self.o.payload.eq(read.data),
        ]
        with m.If(reader.room):
            m.d.sync += self.o.valid.eq(reader.read)
        first, *others = (entry.count for entry in table.entries)
        fetched = Mux(reader.drops, sum(others, start=first), 0)
        gone = Mux(table.fetched, fetched, reader.read)
        m.d.sync += self.held.eq(self.held + table.element.valid - gone)
        with m.If(self.clear):
            m.d.sync += [self.o.valid.eq(0), self.held.eq(0)]

    def _orders(self, m: Module, table: PanelLists, reader: ListReader) -> None:
        """The lists of a panel to the reader."""
        drops = Signal()
        m.d.comb += [
            table.fetch.eq(self.order),
            table.panel.eq(self.panel),
            table.loses.eq(self.loses),
            reader.load.eq(table.fetched),
            reader.entries.eq(table.entries),
            reader.drops.eq(drops),
            self.busy.eq(table.fetched | reader.busy | self.o.valid | ~table.ready),
        ]
        with m.If(self.order):
            m.d.sync += drops.eq(self.loses)
        with m.If(table.fetched):
            m.d.sync += self.lost.eq(table.entries[0].lost)
