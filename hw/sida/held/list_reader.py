"""The lists of a panel, read in turn, or given up."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import CHUNK, SidaConfig
from .layouts import bank_words, chunk_bits, lists
from .panel_lists import element_write_layout, entries_layout

__all__ = ["ListReader"]


class ListReader(wiring.Component):
    """Goes through up to four lists, from each in turn an element, and gives their chunks back.

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
        self._config = config
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

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = lists(self._config)
        layout = data.StructLayout(
            {
                "left": bank_words(self._config).bit_length(),
                "place": element_write_layout(self._config)["place"].shape,
                "next": chunk_bits(self._config),
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
        # Of a chunk that is not wanted, the follower is looked up first.
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
        following = Signal(chunk_bits(self._config))
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
