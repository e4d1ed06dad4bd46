"""The readers of a sparse matrix, one for each of its two arrays."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import Supervision, beat_layout, data_layout, routed_layout, supervise
from ..axi.ordered_reader import OrderedReader
from ..spec.c2sr import PAIR_BYTES, C2srLayout
from ..spec.channels import ChannelGeometry


class HeldBlock(wiring.Component):
    """Brings the requested beat of a block to the front of a stream of whole blocks.

    The beats of a block are wanted in ascending order, some perhaps never, some several times; they
    are dropped one a cycle as far as they are not wanted. The beat itself is ``beats.payload``.

    Parameters
    ----------
    geometry: of the memory's channels

    Members
    -------
    beats: the blocks' beats, in order; ``last`` is that of a block
    want: in; the beat ``beat`` of a block is wanted: of the ``next`` block, or else of the one
        current (the next, too, if nothing of it was ever there)
    discard: in; the rest of the current block is not wanted any more
    here: out; the wanted beat is there
    take: in; the beat is used; only with ``here``
    done: in; with ``take``, the beat is not wanted again
    clear: in; no block is current any more
    """

    def __init__(self, geometry: ChannelGeometry) -> None:
        self._index_bits = geometry.block_beat_bits
        super().__init__(
            {
                "beats": In(stream.Signature(data_layout(geometry.data_bits))),
                "want": In(1),
                "next": In(1),
                "beat": In(max(1, self._index_bits)),
                "discard": In(1),
                "here": Out(1),
                "take": In(1),
                "done": In(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A part of a block has been seen, and the rest of it is still to come.
        opened = Signal()
        # It is the wanted block, of which nothing was taken yet.
        entered = Signal()
        index = Signal(max(1, self._index_bits))
        drop = Signal()
        reached = Signal()
        gone = Signal()
        m.d.comb += [
            drop.eq(opened & (self.discard | (self.want & self.next & ~entered))),
            reached.eq(index == self.beat),
            self.here.eq(self.beats.valid & self.want & ~drop & reached),
            self.beats.ready.eq(drop | (self.want & ~reached) | (self.take & self.done)),
            gone.eq(self.beats.valid & self.beats.ready),
        ]
        with m.If(self.clear | (gone & self.beats.payload.last)):
            m.d.sync += [opened.eq(0), entered.eq(0), index.eq(0)]
        with m.Elif(gone):
            m.d.sync += [opened.eq(1), entered.eq(~drop & ~self.take), index.eq(index + 1)]
        with m.Elif(self.take):
            m.d.sync += [opened.eq(1), entered.eq(0)]
        return m


_HALF = 4 * PAIR_BYTES


def word_of(beat: Value, number: Value, bits: int) -> Value:
    """A word of a beat, by its number."""
    count = len(beat) // bits
    if count == 1:
        return beat
    return Array(beat[bits * index : bits * (index + 1)] for index in range(count))[number]


def pair_of(beat: Value, number: Value) -> tuple[Value, Value]:
    """Length and pointer of a pair."""
    pair = word_of(beat, number, 2 * _HALF)
    return pair[:_HALF], pair[_HALF:]


def entry_of(layout: C2srLayout, beat: Value, number: Value) -> tuple[Value, Value]:
    """Value and column of an entry."""
    entry = word_of(beat, number, 8 * layout.entry_bytes)
    middle = layout.format.bits
    return entry[:middle], entry[middle : middle + layout.index_bits]


def walked_place(m: Module, first: Value, *, within: Value, moved: Value) -> Signal:
    """Computes the place of an entry: ``first`` unless it is ``within`` a row, otherwise one after
    the entry that ``moved`` last."""
    next_place = Signal(len(first), reset_less=True)
    place = Signal(len(first))
    m.d.comb += place.eq(Mux(within, next_place, first))
    with m.If(moved):
        m.d.sync += next_place.eq(place + 1)
    return place


def entry_place(
    m: Module, beat_entries: int, row: data.View, *, within: Value, moved: Value
) -> tuple[Value, Value]:
    """The place of an entry in its beat, and whether it is the beat's last.

    The ``place`` of the row's first entry is in its beat, too; no field if a beat is one entry.
    """
    if beat_entries == 1:
        return Const(0), Const(1)
    place = walked_place(m, row.place, within=within, moved=moved)
    return place, place.all()


READERS = ("pairs", "entries")
"""Arrays that have readers of their own."""


def array_reader(
    geometry: ChannelGeometry, outstanding: int, *, beats: int | None = None
) -> OrderedReader:
    """One of the readers. ``beats``: of its longest burst, by default those of a block."""
    return OrderedReader(
        addr_bits=geometry.addr_bits,
        data_bits=geometry.data_bits,
        channel_bits=geometry.channel_bits,
        outstanding=outstanding,
        burst_beats=beats or geometry.block_beats,
    )


def reader_members(
    geometry: ChannelGeometry, outstanding: int, names: Iterable[str] = READERS
) -> dict[str, wiring.Member]:
    """Members that readers add to the component that contains them."""
    slot_bits = (outstanding - 1).bit_length()
    request = routed_layout(geometry.addr_bits, geometry.channel_bits, slot_bits)
    beat = beat_layout(geometry.data_bits, slot_bits)
    members: dict[str, wiring.Member] = {}
    for name in names:
        members[f"{name}_ar"] = Out(stream.Signature(request))
        members[f"{name}_r"] = In(stream.Signature(beat, always_ready=True))
        members[f"read_beats_{name}"] = Out(1)
    return {**members, **Supervision(geometry.addr_bits).members}


def connect_readers(
    m: Module, loader: wiring.Component, readers: dict[str, OrderedReader], busy: Signal
) -> None:
    """Connects the members of :func:`reader_members`; the error is that of the first reader."""
    supervise(m, loader, [*readers.values()], busy=busy)
    for name, reader in readers.items():
        r = getattr(loader, f"{name}_r")
        wiring.connect(m, reader.ar, wiring.flipped(getattr(loader, f"{name}_ar")))
        wiring.connect(m, wiring.flipped(r), reader.r)
        m.d.comb += getattr(loader, f"read_beats_{name}").eq(r.valid & r.ready)
