"""Lists of elements by panel, in chunks that they share."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import CHUNK, SidaConfig
from ...stream.ring import reads_with_writes
from .layouts import (
    bank_words,
    chunk_bits,
    held_layout,
    late_layout,
    lists,
    panel_bits,
    panels,
)

__all__ = [
    "PanelLists",
    "element_write_layout",
    "entries_layout",
    "entry_layout",
    "link_write_layout",
]

_OFFSET_BITS = (CHUNK - 1).bit_length()


def entry_layout(config: SidaConfig) -> data.StructLayout:
    """A list: whether its elements are ``lost``; how many there are; its first and last chunk."""
    chunk = chunk_bits(config)
    return data.StructLayout(
        {"lost": 1, "count": bank_words(config).bit_length(), "head": chunk, "tail": chunk}
    )


def entries_layout(config: SidaConfig) -> data.ArrayLayout:
    """All lists of a panel."""
    return data.ArrayLayout(entry_layout(config), lists(config))


def element_write_layout(config: SidaConfig) -> data.StructLayout:
    """An element that goes to a place of a chunk."""
    place = data.StructLayout({"offset": _OFFSET_BITS, "chunk": chunk_bits(config)})
    return data.StructLayout({"valid": 1, "place": place, "late": late_layout(config)})


def link_write_layout(config: SidaConfig) -> data.StructLayout:
    """The chunk that follows another one in its list."""
    return data.StructLayout(
        {"valid": 1, "chunk": chunk_bits(config), "follower": chunk_bits(config)}
    )


class PanelLists(wiring.Component):
    """Assigns each element of a bank a place at the end of one of its panel's lists.

    An element a cycle; it is in its place two cycles later. One that needs a chunk waits for it; a
    panel's lists may be looked at nevertheless, which leaves them empty, or lost: what comes for a
    lost list is dropped. After a reset or a clear ``walk`` goes over all panels, one a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of elements
    chunk: stream; chunks that are free
    element, link: out; what is written
    waits: out; an element waits for a chunk
    stays: out; an element that was taken is in no list at the end of the cycle
    fetch, panel, loses: in; a panel's lists are looked at, and lost if ``loses``, else empty; has
        precedence over elements
    fetched, entries: out; a cycle later, the lists as they were
    ready: out; lists are in order
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(held_layout(config))),
                "chunk": In(stream.Signature(chunk_bits(config))),
                "element": Out(element_write_layout(config)),
                "link": Out(link_write_layout(config)),
                "waits": Out(1),
                "stays": Out(1),
                "fetch": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "fetched": Out(1),
                "entries": Out(entries_layout(config)),
                "ready": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        depth = panels(config)
        m.submodules.table = table = Memory(shape=entries_layout(config), depth=depth, init=[])
        write = table.write_port()
        looked_at = Signal(panel_bits(config))
        (found,) = reads_with_writes(m, table, write, {"entries": looked_at})
        walk = Signal(range(depth + 1))
        held = Signal(held_layout(config), reset_less=True)
        is_open = Signal()
        looks = Signal()
        loses = Signal()
        address = Signal(panel_bits(config))
        ends = Signal()
        m.d.comb += [
            self.ready.eq(walk == depth),
            self.stays.eq(is_open & ~ends),
            self.i.ready.eq(self.ready & ~self.fetch & ~self.stays),
            looked_at.eq(
                Mux(
                    self.fetch,
                    self.panel,
                    Mux(self.stays, held.panel, self.i.payload.panel),
                )
            ),
            self.entries.eq(found),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += held.eq(self.i.payload)
        m.d.sync += [
            address.eq(looked_at),
            looks.eq(~self.fetch & (self.stays | (self.i.valid & self.i.ready))),
            is_open.eq(self.stays | (self.i.valid & self.i.ready)),
            self.fetched.eq(self.fetch),
            loses.eq(self.loses),
        ]
        number = Signal(range(max(2, lists(config))))
        updated = self._append(m, self.entries[number], held, looks, ends)
        m.d.comb += [
            number.eq(self._list_of(held)),
            write.en.eq(ends | self.fetched | ~self.ready),
            write.addr.eq(Mux(self.ready, address, walk[: len(write.addr)])),
        ]
        with m.If(ends):
            for n, (entry, before) in enumerate(zip(write.data, self.entries, strict=True)):
                m.d.comb += entry.eq(Mux(number == n, updated, before))
        with m.Else():
            m.d.comb += [entry.lost.eq(self.fetched & loses) for entry in write.data]
        with m.If(~self.ready):
            m.d.sync += walk.eq(walk + 1)
        with m.If(self.clear):
            m.d.sync += [walk.eq(0), looks.eq(0), is_open.eq(0), self.fetched.eq(0)]
        return m

    def _append(
        self, m: Module, entry: data.View, held: data.View, looks: Signal, ends: Signal
    ) -> data.View:
        """Returns the list with one more element, and the writes for it."""
        updated = Signal(entry_layout(self.config))
        offset = entry.count[:_OFFSET_BITS]
        fresh = Signal()
        adds = Signal()
        place = self.element.place
        m.d.comb += [
            fresh.eq(offset == 0),
            self.waits.eq(looks & ~entry.lost & fresh & ~self.chunk.valid),
            ends.eq(looks & ~self.waits),
            adds.eq(ends & ~entry.lost),
            self.chunk.ready.eq(adds & fresh),
            place.offset.eq(offset),
            place.chunk.eq(Mux(fresh, self.chunk.payload, entry.tail)),
            self.element.valid.eq(adds),
            self.element.late.eq(held.late),
            self.link.valid.eq(adds & fresh & (entry.count != 0)),
            self.link.chunk.eq(entry.tail),
            self.link.follower.eq(self.chunk.payload),
            updated.lost.eq(entry.lost),
            updated.count.eq(entry.count + adds),
            updated.head.eq(Mux(entry.count == 0, self.chunk.payload, entry.head)),
            updated.tail.eq(place.chunk),
        ]
        return updated

    def _list_of(self, held: data.View) -> Cat:
        """Returns the list of an element, by its column: equal columns are in one list."""
        bits = (lists(self.config) - 1).bit_length()
        low = held.late.place[:bits]
        return Cat(low, *[Const(0, 1)] * (bits - len(low)))
