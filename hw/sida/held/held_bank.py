"""A bank of elements that wait for their row."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import CHUNK, SidaConfig
from ...stream.queue import DeepQueue
from .late_elements import scattered_layout
from .layouts import (
    bank_words,
    chunk_bits,
    chunks,
    held_layout,
    late_layout,
    lists,
    panel_bits,
    panels,
)
from .panel_lists import PanelLists, element_write_layout, entries_layout


class ListReader(wiring.Component):
    """Reads up to four lists, an element from each in turn, and frees their chunks.

    A chunk's follower is looked up with the chunk's first element, so it comes with the next one at
    the earliest. An element a cycle, or, where elements are not wanted, a chunk in one to three.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    load, entries: in; the lists to be read
    drops: in; elements are not wanted; constant from ``load`` on
    link: out; a chunk's follower is looked up, that of ``link_chunk``
    follower: in; a cycle later, it
    room: in; an element may be read
    read, place: out; one is, from there
    freed, chunk: out; nothing more is in this chunk
    busy: out; lists have elements left
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        chunk = chunk_bits(config)
        super().__init__(
            {
                "load": In(1),
                "entries": In(entries_layout(config)),
                "drops": In(1),
                "link": Out(1),
                "link_chunk": Out(chunk),
                "follower": In(chunk),
                "room": In(1),
                "read": Out(1),
                "place": Out(element_write_layout(config)["place"].shape),
                "freed": Out(1),
                "chunk": Out(chunk),
                "busy": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = lists(self.config)
        layout = data.StructLayout(
            {
                "left": bank_words(self.config).bit_length(),
                "place": element_write_layout(self.config)["place"].shape,
                "next": chunk_bits(self.config),
                "asked": 1,
                "linked": 1,
            }
        )
        cursors = [Signal(layout, name=f"cursor_{n}") for n in range(count)]
        able = Signal(count)
        chosen = Signal(range(max(2, count)))
        last = Signal(range(max(2, count)))
        moves = Signal()
        ends = Signal()
        more = Signal()
        # If a chunk is not wanted, its follower is looked up first.
        seeks = Signal()
        linking = Signal()
        linked = Signal(range(max(2, count)))
        for n, cursor in enumerate(cursors):
            waits = self.drops & cursor.asked & ~cursor.linked
            m.d.comb += able[n].eq((cursor.left != 0) & ~waits)
        with m.Switch(last):
            for served in range(count):
                with m.Case(served):
                    # The last assignment counts: the list behind the one read last.
                    for step in reversed(range(1, count + 1)):
                        with m.If(able[(served + step) % count]):
                            m.d.comb += chosen.eq((served + step) % count)
        now = Signal(layout)
        left = Signal.like(now.left)
        following = Signal(chunk_bits(self.config))
        m.d.comb += [
            now.eq(Array(cursors)[chosen]),
            following.eq(Mux(linking & (linked == chosen), self.follower, now.next)),
            self.busy.eq(Cat(cursor.left != 0 for cursor in cursors).any()),
            moves.eq(able.any() & (self.room | self.drops)),
            seeks.eq(self.drops & (now.left > CHUNK) & ~now.linked),
            more.eq(Mux(self.drops, now.left > CHUNK, now.left > 1)),
            left.eq(Mux(more, now.left - Mux(self.drops, CHUNK, 1), 0)),
            ends.eq(moves & ~seeks & (self.drops | (now.place.offset == CHUNK - 1) | ~more)),
            self.read.eq(moves & ~self.drops),
            self.place.eq(now.place),
            self.freed.eq(ends),
            self.chunk.eq(now.place.chunk),
            self.link.eq(moves & Mux(self.drops, seeks, now.place.offset == 0)),
            self.link_chunk.eq(now.place.chunk),
        ]
        m.d.sync += [linking.eq(self.link), linked.eq(chosen)]
        with m.If(moves):
            m.d.sync += last.eq(chosen)
        for n, cursor in enumerate(cursors):
            with m.If(linking & (linked == n)):
                m.d.sync += [cursor.next.eq(self.follower), cursor.linked.eq(1)]
            with m.If(self.load):
                m.d.sync += [
                    cursor.left.eq(self.entries[n].count),
                    cursor.place.chunk.eq(self.entries[n].head),
                    cursor.place.offset.eq(0),
                    cursor.asked.eq(0),
                    cursor.linked.eq(0),
                ]
            with m.Elif(moves & (chosen == n)):
                m.d.sync += cursor.asked.eq(1)
                with m.If(~seeks):
                    m.d.sync += [cursor.left.eq(left), cursor.place.offset.eq(now.place.offset + 1)]
                with m.If(ends):
                    m.d.sync += [
                        cursor.place.chunk.eq(following),
                        cursor.place.offset.eq(0),
                        cursor.asked.eq(0),
                        cursor.linked.eq(0),
                    ]
            with m.If(self.clear):
                m.d.sync += cursor.left.eq(0)
        with m.If(self.clear):
            m.d.sync += linking.eq(0)
        return m


class HeldBank(wiring.Component):
    """Buffers elements by panel; returns those of one panel, or evicts them.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        """Allocates chunks: returned ones first, then unused ones; returns how many are in use."""
        count = chunks(self.config)
        m.submodules.free = free = DeepQueue(chunk_bits(self.config), max(2, count))
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
        config = self.config
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
        """Connects the lists of a panel to the reader."""
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
