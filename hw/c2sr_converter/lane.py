"""Copies the entries of rows: a lane's requests, its entries, and their beats."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import (
    Supervision,
    beat_layout,
    data_layout,
    routed_layout,
    store_layout,
    supervise,
)
from ..channels import beat_packer
from ..channels.array_readers import array_reader, entry_of, entry_place
from ..channels.beat_packer import BeatPacker, WordPlacer
from ..channels.stripe_walk import StripeWalk, span_layout
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.fork_join import Fork, connect_fields
from ..stream.queue import DeepQueue
from ..stream.ring import moved_count
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .packet_router import packet_layout
from .row_places import lane_row_layout, place_layout

_BITS = 32
_LEAST_AHEAD = 32
"""Rows whose beats are requested and that are not copied yet, at least."""


def asked_row_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Row whose beats are requested: ``length``; the ``place`` of its first entry in its beat (no
    field if a beat is one entry); whether that beat is ``held``, because it is the last one of the
    previous row; and where the row is written, ``to``."""
    fields: dict[str, ShapeLike] = {"length": _BITS, "held": 1, "to": place_layout(config)}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return data.StructLayout(fields)


class RowSpans(wiring.Component):
    """Requests exactly the beats of rows. In C2SR a beat that the previous row has already fetched
    is not requested again. Latency two cycles; a row a cycle.

    Members
    -------
    start: in, a pulse while nothing is inside
    to_csr: in; direction of the job; constant from ``start`` on
    i: see ``lane_row_layout``
    o: see :func:`asked_row_layout`
    spans: see ``span_layout``; in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "i": In(stream.Signature(lane_row_layout(config))),
                "o": Out(stream.Signature(asked_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    @property
    def _beat_shift(self) -> int:
        return self._config.beat_entries.bit_length() - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self._beat_shift
        sized = self._size(m)
        row = sized.payload
        m.submodules.row_fork = fork = Fork(row.shape(), 2, eager=True)
        wiring.connect(m, sized, fork.i)
        kept, asked = fork.o
        held = self._held(m, sized)
        at, span = row.at, self.spans.payload
        beat = Cat(at.entry[shift:], at.block)
        first = Signal(len(beat) + 1, name="first_beat")
        needs = Signal()
        block_bits = self._config.geometry.block_beat_bits
        # `held` arrives late: it selects.
        m.d.comb += [
            first.eq(Mux(held, beat + 1, beat)),
            needs.eq(~(held & row.one_beat)),
            fork.clear.eq(self.clear),
            self.spans.valid.eq(asked.valid & needs),
            asked.ready.eq(self.spans.ready | ~needs),
            span.channel.eq(at.channel),
            span.block.eq(first[block_bits:]),
            span.beats.eq(Mux(held, row.steps, row.steps + 1)),
        ]
        if block_bits:
            m.d.comb += span.beat.eq(first[:block_bits])
        entry = kept.payload
        place = {"place": entry.at.entry[:shift]} if shift else {}
        connect_fields(m, kept, self.o, **place, length=entry.length, to=entry.to, held=held)
        return m

    def _size(self, m: Module) -> Any:
        """Rows with their number of beats; returns the stream of these.

        ``at``: where the row is read; ``to``: where it is written; ``steps``: from the beat of the
        first entry to that of the last; ``one_beat``: both are the same.
        """
        config, shift = self._config, self._beat_shift
        place = place_layout(config)
        beat_bits = _BITS + 1 - shift
        turned = data.StructLayout({"length": _BITS, "at": place, "to": place})
        sized_row = data.StructLayout(
            {
                "length": _BITS,
                "at": place,
                "to": place,
                "steps": beat_bits,
                "one_beat": 1,
            }
        )
        m.submodules.found = found = SkidBuffer(turned, clearable=True)
        m.submodules.sized = sized = OutputRegister(sized_row, clearable=True)
        row = self.i.payload
        flat, own = Value.cast(row.flat), Value.cast(row.own)
        at, to = Mux(self.to_csr, own, flat), Mux(self.to_csr, flat, own)
        connect_fields(m, self.i, found.i, length=row.length, at=at, to=to)
        row = found.o.payload
        # The last entry, counted from the first beat's first.
        last = Signal(_BITS + 1)
        begin = row.at.entry[:shift] if shift else 0
        m.d.comb += last.eq(begin + row.length - 1)
        steps = last[shift:]
        connect_fields(
            m,
            found.o,
            sized.i,
            length=row.length,
            at=row.at,
            to=row.to,
            steps=steps,
            one_beat=steps == 0,
        )
        for part in (found, sized):
            m.d.comb += part.clear.eq(self.clear)
        return sized.o

    def _held(self, m: Module, sized: Any) -> Value:
        """Returns whether the row begins in the beat in which the row before it ended."""
        row, shift = sized.payload, self._beat_shift
        some_held = Signal()
        begin = Cat(row.at.entry[shift:], row.at.block)
        beat = Signal(len(begin) + 1, reset_less=True)
        channel = Signal(len(row.at.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(some_held & (channel == row.at.channel) & (beat == begin))
        with m.If(sized.valid & sized.ready):
            m.d.sync += [
                some_held.eq(self.to_csr),
                beat.eq(begin + row.steps),
                channel.eq(row.at.channel),
            ]
        with m.If(self.start):
            m.d.sync += some_held.eq(0)
        return held


class RowEntries(wiring.Component):
    """Sends the entries of each row. Latency one cycle; one entry per cycle.

    The last beat stays, for a row that begins in it.

    Members
    -------
    start: in, a pulse while nothing is inside
    to_csr: in; direction of the job; constant from ``start`` on
    i: see :func:`asked_row_layout`
    beats: those of the rows
    o: see ``channel_word_layout``; the slot is the channel
    done: out, a pulse: the last entry of a row has left
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "i": In(stream.Signature(asked_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(_word_layout(config))),
                "done": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sent = sent = SkidBuffer(self.o.payload.shape(), clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, word = self.i.payload, sent.i.payload
        # After the first entry of a row.
        within = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        kept = Signal(config.data_bits, reset_less=True)
        next_held = Signal()
        held = Signal()
        ends = Signal()
        moved = Signal()
        number, beat_done = entry_place(m, config.beat_entries, row, within=within, moved=moved)
        beat = Mux(held, kept, self.beats.payload.data)
        value, column = entry_of(config.layout, beat, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            held.eq(Mux(within, next_held, row.held)),
            ends.eq(left == 1),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (held | self.beats.valid)),
            moved.eq(sent.i.valid & sent.i.ready),
            self.i.ready.eq(moved & ends),
            self.done.eq(moved & ends),
            self.beats.ready.eq(moved & ~held & (ends | beat_done)),
            word.word.eq(Cat(value, column)),
            word.closes.eq(ends & self._closes()),
        ]
        self._place(m, row, word, within, moved)
        with m.If(moved):
            m.d.sync += [
                within.eq(~ends),
                next_left.eq(left - 1),
                next_held.eq(held & ~beat_done),
            ]
        with m.If(self.beats.valid & self.beats.ready):
            m.d.sync += kept.eq(self.beats.payload.data)
        with m.If(self.start | self.clear):
            m.d.sync += within.eq(0)
        return m

    def _closes(self) -> Value:
        """Whether the lane's next row does not follow the one before."""
        lanes, channels = self._config.lane_count, self._config.channels
        return Mux(self.to_csr, int(lanes > 1), int(lanes < channels))

    def _place(
        self, m: Module, row: data.View, word: data.View, within: Value, moved: Value
    ) -> None:
        """Where the entry is written; in CSR the next block is in the next channel."""
        config = self._config
        place = Signal(place_layout(config))
        next_place = Signal(place_layout(config), reset_less=True)
        m.d.comb += [
            place.eq(Mux(within, Value.cast(next_place), Value.cast(row.to))),
            word.number.eq(Cat(place.entry, place.block)),
            word.channel.eq(place.channel),
        ]
        if config.channels > 1:
            m.d.comb += word.slot.eq(place.channel)
        with m.If(moved):
            m.d.sync += [next_place.eq(place), next_place.entry.eq(place.entry + 1)]
            with m.If(place.entry.all()):
                last = place.channel == config.channels - 1
                m.d.sync += next_place.block.eq(place.block + (last | ~self.to_csr))
                with m.If(self.to_csr):
                    m.d.sync += next_place.channel.eq(Mux(last, 0, place.channel + 1))


def _word_layout(config: C2srConverterConfig) -> data.StructLayout:
    """An entry and its place."""
    return beat_packer.channel_word_layout(
        config.geometry, config.layout.entry_bytes, config.channels, closing=True
    )


class EntryLane(wiring.Component):
    """Copies the entries of rows, from one form to the other: an entry a cycle, rows of one entry
    included, as long as the bursts in flight last for the memory's latency.

    Members
    -------
    to_csr: in; direction of the job; constant from ``start`` on
    read_base, write_base: in; flat addresses of the entries; likewise
    start: in, a pulse when ``idle`` and ``finished``
    i: see ``lane_row_layout``
    ended: in, level; no more rows come
    ar, r: the bus
    packet, beats: to the router
    read_beat: out, a pulse: a beat has come over the bus
    stored_entry: out, a pulse: an entry was copied
    finished: out; ``ended``, and nothing is inside
    stop, idle, error, error_address: see ``Supervision``
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        geometry, slot_bits = config.geometry, config.slot_bits
        request = routed_layout(geometry.addr_bits, geometry.channel_bits, slot_bits)
        beat = beat_layout(geometry.data_bits, slot_bits)
        super().__init__(
            {
                "to_csr": In(1),
                "read_base": In(geometry.addr_bits),
                "write_base": In(geometry.addr_bits),
                "start": In(1),
                "i": In(stream.Signature(lane_row_layout(config))),
                "ended": In(1),
                "ar": Out(stream.Signature(request)),
                "r": In(stream.Signature(beat, always_ready=True)),
                "packet": Out(stream.Signature(packet_layout(geometry))),
                "beats": Out(stream.Signature(store_layout(geometry.data_bits))),
                **{name: Out(1) for name in ("read_beat", "stored_entry", "finished")},
                **Supervision(geometry.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.spans = spans = RowSpans(config)
        m.submodules.entries = entries = RowEntries(config)
        depth = max(config.outstanding, _LEAST_AHEAD)
        m.submodules.waiting = waiting = DeepQueue(asked_row_layout(config), depth)
        # Behind the memory's access.
        m.submodules.next_row = next_row = SkidBuffer(asked_row_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.i), spans.i)
        wiring.connect(m, spans.o, waiting.i)
        wiring.connect(m, waiting.o, next_row.i)
        wiring.connect(m, next_row.o, entries.i)
        for part in (spans, entries):
            m.d.comb += [part.start.eq(self.start), part.to_csr.eq(self.to_csr)]
        for part in (spans, entries, waiting, next_row):
            m.d.comb += part.clear.eq(self.stop)
        self._read(m, spans, entries)
        rows = self._rows(m, entries)
        empty = self._write(m, entries, ~rows.any())
        m.d.comb += [
            self.stored_entry.eq(entries.o.valid & entries.o.ready),
            self.finished.eq(self.ended & ~rows.any() & empty),
        ]
        return m

    def _read(self, m: Module, spans: RowSpans, entries: RowEntries) -> None:
        """The rows' beats."""
        config = self._config
        m.submodules.reader = reader = array_reader(config.geometry, config.outstanding)
        m.submodules.walk = walk = StripeWalk(config.geometry, flat=True)
        # The walk's grants, and the crossbar's, go no further back than here.
        m.submodules.asked = asked = SkidBuffer(walk.i.payload.shape(), clearable=True)
        m.submodules.requests = requests = SkidBuffer(
            reader.request.payload.shape(), clearable=True
        )
        # Behind the memory's access.
        m.submodules.read = read = SkidBuffer(reader.o.payload.shape(), clearable=True)
        wiring.connect(m, spans.spans, asked.i)
        wiring.connect(m, asked.o, walk.i)
        wiring.connect(m, walk.o, requests.i)
        wiring.connect(m, requests.o, reader.request)
        wiring.connect(m, reader.o, read.i)
        wiring.connect(m, read.o, entries.beats)
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        supervise(m, self, [reader])
        m.d.comb += [
            walk.base.eq(self.read_base),
            walk.consecutive.eq(~self.to_csr),
            self.read_beat.eq(self.r.valid & self.r.ready),
        ]
        for part in (asked, walk, requests, read):
            m.d.comb += part.clear.eq(self.stop)

    def _rows(self, m: Module, entries: RowEntries) -> Signal:
        """Counts the rows that are inside."""
        most = max(self._config.outstanding, _LEAST_AHEAD) + 16
        rows = Signal(range(most))
        came = self.i.valid & self.i.ready
        with m.If(self.start | self.stop):
            m.d.sync += rows.eq(0)
        with m.Else():
            m.d.sync += rows.eq(moved_count(rows, came, entries.done))
        return rows

    def _write(self, m: Module, entries: RowEntries, no_rows: Value) -> Value:
        """Entries to packets; returns whether nothing is inside."""
        config, geometry = self._config, self._config.geometry
        word_bytes, channels = config.layout.entry_bytes, config.channels
        m.submodules.place = place = WordPlacer(
            geometry, word_bytes=word_bytes, step=1, slots=channels, closing=True
        )
        m.submodules.packer = packer = BeatPacker(geometry, word_bytes=word_bytes)
        m.submodules.packed = packed = DeepQueue(
            store_layout(geometry.data_bits), 2 * geometry.block_beats
        )
        wiring.connect(m, entries.o, place.i)
        word = place.o.payload
        placed = beat_packer.placed_word_layout(geometry, word_bytes)
        fields = {name: word[name] for name, _ in placed}
        connect_fields(m, place.o, packer.i, **fields)
        # The channel of the run that the packer asks for next.
        channel = Signal(geometry.channel_bits, reset_less=True)
        if channels > 1:
            with m.If(packer.i.valid & packer.i.ready):
                m.d.sync += channel.eq(word.slot)
        request = packer.request.payload
        connect_fields(
            m,
            packer.request,
            self.packet,
            address=request.address,
            beats=request.beats,
            channel=channel,
        )
        wiring.connect(m, packer.o, packed.i)
        wiring.connect(m, packed.o, wiring.flipped(self.beats))
        still = Signal()
        m.d.comb += [
            place.base.eq(self.write_base),
            place.clear.eq(self.stop),
            packer.clear.eq(self.stop),
            packed.clear.eq(self.stop),
            still.eq(~entries.o.valid & place.empty),
            packer.flush.eq(self.ended & no_rows & still),
        ]
        return still & packer.empty
