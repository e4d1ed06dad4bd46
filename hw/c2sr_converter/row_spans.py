"""Computes the beats that hold the entries of rows; no beat is read twice in succession."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..channels.array_readers import pair_of
from ..channels.stripe_walk import BLOCK_BITS, FlatBlocks, span_layout
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.fork_join import Fork, connect_fields
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .writer import found_row_layout

_ROW_BITS = 32


class StripePairs(wiring.Component):
    """Requests beats from all channels round robin, and extracts the rows' pairs from them.

    A beat has the pairs of several rows of its channel, between which those of the other channels
    come: it is kept until then, so that each is read once. A row a cycle, no latency.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1, sampled with ``start``
    spans: see ``span_layout``; a beat each
    beats: those
    o: see ``found_row_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_ROW_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_row_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def _beat_pairs(self) -> int:
        return self._config.beat_bytes // PAIR_BYTES

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._ask(m)
        self._take(m)
        return m

    def _ask(self, m: Module) -> None:
        """Requests one beat from each channel that has rows, then the next beat from each."""
        config, span = self._config, self.spans.payload
        group = config.channels * self._beat_pairs
        # Rows whose pairs are in beats that are not requested yet, this round's channels included.
        left = Signal(_ROW_BITS, name="rows_to_ask")
        channel = Signal(config.layout.channel_bits, name="asked_channel")
        block = Signal(BLOCK_BITS)
        beat = Signal(range(max(2, config.geometry.block_beats)))
        round_ends = Signal()
        m.d.comb += [
            self.spans.valid.eq(left != 0),
            span.channel.eq(channel),
            span.block.eq(block),
            span.beats.eq(1),
            round_ends.eq((channel == config.channels - 1) | (left == channel + 1)),
        ]
        if config.geometry.block_beats > 1:
            m.d.comb += span.beat.eq(beat)
        with m.If(self.spans.valid & self.spans.ready):
            m.d.sync += channel.eq(channel + 1)
            with m.If(round_ends):
                m.d.sync += [channel.eq(0), left.eq(Mux(left > group, left - group, 0))]
                if config.geometry.block_beats > 1:
                    m.d.sync += [beat.eq(beat + 1), block.eq(block + beat.all())]
                else:
                    m.d.sync += block.eq(block + 1)
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), channel.eq(0), block.eq(0), beat.eq(0)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _take(self, m: Module) -> None:
        config, row = self._config, self.o.payload
        left = Signal(_ROW_BITS, name="rows_to_take")
        channel = Signal(config.layout.channel_bits, name="taken_channel")
        moved = Signal()
        beat, number, fresh = self._beat(m, channel, moved)
        length, pointer = pair_of(beat, number)
        here = Signal()
        m.d.comb += [
            here.eq((left != 0) & (self.beats.valid | ~fresh)),
            self.o.valid.eq(here),
            moved.eq(here & self.o.ready),
            self.beats.ready.eq(moved & fresh),
            row.channel.eq(channel),
            row.length.eq(length),
            row.pointer.eq(pointer),
            row.last.eq(left == 1),
        ]
        with m.If(moved):
            m.d.sync += [left.eq(left - 1), channel.eq(channel + 1)]
            with m.If(channel == config.channels - 1):
                m.d.sync += channel.eq(0)
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), channel.eq(0)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _beat(self, m: Module, channel: Value, moved: Value) -> tuple[Value, Value, Value]:
        """The beat with the next row's pair, the pair's number in it, and whether it is new."""
        config, count = self._config, self._beat_pairs
        if count == 1:
            return self.beats.payload.data, Const(0), Const(1)
        number = Signal(range(count))
        fresh = Signal()
        m.submodules.kept = kept = Memory(
            shape=config.data_bits, depth=max(2, config.channels), init=[]
        )
        write, read = kept.write_port(), kept.read_port(domain="comb")
        m.d.comb += [
            fresh.eq(number == 0),
            write.en.eq(moved & fresh),
            write.addr.eq(channel),
            write.data.eq(self.beats.payload.data),
            read.addr.eq(channel),
        ]
        with m.If(moved & (channel == config.channels - 1)):
            m.d.sync += number.eq(number + 1)
        with m.If(self.start):
            m.d.sync += number.eq(0)
        return Mux(fresh, self.beats.payload.data, read.data), number, fresh


_FINAL_BITS = 33


def asked_span_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Row whose beats are requested: ``length``, the ``place`` of its first entry in its beat (no
    field if a beat is one entry), whether that beat is ``held``, because it is the last one of the
    previous row with entries, and whether the row is the ``last``."""
    fields: dict[str, ShapeLike] = {"length": 32, "held": 1, "last": 1}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return data.StructLayout(fields)


class RowSpans(wiring.Component):
    """Requests the beats of rows, except a beat that the previous row has already fetched.

    In C2SR that is done row by row, in CSR by whole blocks, one after the other, as far as the rows
    reach. Latency three cycles; a row a cycle, a block a cycle.

    Members
    -------
    start: in, a pulse while nothing is inside
    flat: in; the rows are those of CSR; constant from ``start`` on, sampled in the cycle after it
    i: see ``found_row_layout``
    o: see :func:`asked_span_layout`
    spans: see ``span_layout``; in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "flat": In(1),
                "i": In(stream.Signature(found_row_layout(config))),
                "o": Out(stream.Signature(asked_span_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    @property
    def _beat_shift(self) -> int:
        return self._config.beat_entries.bit_length() - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A register of its own, for it selects between all that is wide here.
        flat = Signal()
        m.d.sync += flat.eq(self.flat)
        sized = self._size(m)
        row = sized.payload
        needs = Signal()
        more = Signal()
        # The row waits for none of its blocks, which may be more than can be in flight.
        m.submodules.row_fork = fork = Fork(row.shape(), 2, eager=True)
        wiring.connect(m, sized, fork.i)
        kept, asked = fork.o
        held = self._held(m, sized)
        row_needs = self._of_row(m, row, held, flat)
        block_needs, block_more = self._of_blocks(m, row, flat)
        m.d.comb += [
            needs.eq(Mux(flat, block_needs, row_needs)),
            more.eq(flat & block_more),
            fork.clear.eq(self.clear),
            self.spans.valid.eq(asked.valid & needs),
            asked.ready.eq(~more & (self.spans.ready | ~needs)),
        ]
        entry = kept.payload
        place = {"place": entry.pointer} if self._config.beat_entries > 1 else {}
        connect_fields(m, kept, self.o, **place, length=entry.length, last=entry.last, held=held)
        return m

    def _size(self, m: Module) -> Any:
        """Rows with their last entry, then with their number of beats; returns the stream of these.

        ``final``: the last entry; ``steps``: from the beat of the first entry to that of the last;
        ``some``: there are entries; ``one_beat``: they are in one beat.
        """
        beat_bits = _FINAL_BITS - self._beat_shift
        fields = {name: field.shape for name, field in found_row_layout(self._config)}
        ended_row = data.StructLayout({**fields, "final": _FINAL_BITS})
        sized_row = data.StructLayout(
            {**fields, "final": _FINAL_BITS, "steps": beat_bits, "some": 1, "one_beat": 1}
        )
        m.submodules.found = found = SkidBuffer(data.StructLayout(fields), clearable=True)
        m.submodules.ended = ended = OutputRegister(ended_row, clearable=True)
        m.submodules.sized = sized = OutputRegister(sized_row, clearable=True)
        wiring.connect(m, wiring.flipped(self.i), found.i)
        row = found.o.payload
        same = {name: row[name] for name in fields}
        connect_fields(m, found.o, ended.i, **same, final=row.pointer + row.length - 1)
        row = ended.o.payload
        first, last = (place[self._beat_shift :] for place in (row.pointer, row.final))
        connect_fields(
            m,
            ended.o,
            sized.i,
            **{name: row[name] for name in fields},
            final=row.final,
            steps=last - first,
            some=row.length != 0,
            one_beat=last == first,
        )
        for part in (found, ended, sized):
            m.d.comb += part.clear.eq(self.clear)
        return sized.o

    def _held(self, m: Module, sized: Any) -> Value:
        """Returns whether the row begins in the beat in which the last row with entries ended."""
        row, bits = sized.payload, self._beat_shift
        some_held = Signal()
        beat = Signal(_FINAL_BITS - bits, reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(some_held & (channel == row.channel) & (beat == row.pointer[bits:]))
        with m.If(sized.valid & sized.ready & row.some):
            m.d.sync += [some_held.eq(1), beat.eq(row.final[bits:]), channel.eq(row.channel)]
        with m.If(self.start):
            m.d.sync += some_held.eq(0)
        return held

    def _of_row(self, m: Module, row: data.View, held: Value, flat: Value) -> Value:
        """Exactly the beats of the row; returns whether there are any."""
        config, span = self._config, self.spans.payload
        block_bits = config.geometry.block_beat_bits
        begin = row.pointer[self._beat_shift :]
        first = Signal(len(begin) + 1, name="first_beat")
        # `held` arrives late: it selects.
        m.d.comb += first.eq(Mux(held, begin + 1, begin))
        with m.If(~flat):
            m.d.comb += [
                span.channel.eq(row.channel),
                span.block.eq(first[block_bits:]),
                span.beats.eq(Mux(held, row.steps, row.steps + 1)),
            ]
            if block_bits:
                m.d.comb += span.beat.eq(first[:block_bits])
        return row.some & ~(held & row.one_beat)

    def _of_blocks(self, m: Module, row: data.View, flat: Value) -> tuple[Value, Value]:
        """Whole blocks, up to that of the row's last entry; returns whether the next one is still
        to be read, and whether more are."""
        span = self.spans.payload
        bits = self._config.layout.block_entries.bit_length() - 1
        m.submodules.blocks = blocks = FlatBlocks(self._config.geometry)
        following = Signal(_FINAL_BITS - bits, name="next_block")
        taken = Signal()
        final = row.final[bits:]
        m.d.comb += [
            blocks.start.eq(self.start),
            blocks.want.eq(flat & self.spans.valid),
            blocks.spans.ready.eq(self.spans.ready),
            taken.eq(blocks.taken),
        ]
        with m.If(flat):
            m.d.comb += span.eq(blocks.spans.payload)
        with m.If(taken):
            m.d.sync += following.eq(following + 1)
        with m.If(self.start):
            m.d.sync += following.eq(0)
        return row.some & (following <= final), row.some & (following < final)
