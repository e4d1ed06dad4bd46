"""Reads a lane's rows of A."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...axi.ordered_reader import OrderedReader
from ...channels.array_readers import (
    READERS,
    HeldBlock,
    array_reader,
    connect_readers,
    entry_of,
    pair_of,
    reader_members,
    walked_place,
)
from ...channels.stripe_walk import StripeWalk, span_layout
from ...spec.c2sr import PAIR_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.fork_join import Fork, connect_fields
from ...stream.queue import DeepQueue
from ...stream.stream_registers import OutputRegister, SkidBuffer
from ..control import RowWalk, walk_layout
from ..layouts import job_layout, left_layout, row_layout


def paired_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row with its ``channel``, whether it is the lane's ``last``, ``length`` and ``pointer``."""
    return data.StructLayout(
        {
            "row": row_layout(config),
            "channel": config.layout.channel_bits,
            "last": 1,
            "length": 32,
            "pointer": 32,
        }
    )


class RowPairs(wiring.Component):
    """Joins rows and the blocks of their pairs. One row per cycle, one beat per cycle.

    Members
    -------
    rows: see ``walk_layout``
    beats: whole blocks of pairs, one for each ``first`` row
    o: see :func:`paired_row_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "rows": In(stream.Signature(walk_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(paired_row_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.block = block = HeldBlock(config.geometry)
        m.submodules.found = found = SkidBuffer(paired_row_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.beats), block.beats)
        wiring.connect(m, found.o, wiring.flipped(self.o))
        beat_pairs = config.beat_bytes // PAIR_BYTES
        shift = beat_pairs.bit_length() - 1
        source, row = self.rows.payload, found.i.payload
        place = source.row.index[: (config.layout.block_pairs - 1).bit_length()]
        number = place[:shift]
        # The lane's next row is in another beat.
        done: Value = Const(1)
        if config.channel_lanes < beat_pairs:
            done = number >= beat_pairs - config.channel_lanes
        length, pointer = pair_of(self.beats.payload.data, number)
        m.d.comb += [
            block.clear.eq(self.clear),
            block.want.eq(self.rows.valid),
            block.next.eq(source.first),
            block.beat.eq(place[shift:]),
            block.discard.eq(~self.rows.valid),
            block.take.eq(block.here & found.i.ready),
            block.done.eq(done),
            found.clear.eq(self.clear),
            found.i.valid.eq(block.here),
            self.rows.ready.eq(block.take),
            row.row.eq(source.row),
            row.channel.eq(source.channel),
            row.last.eq(source.last),
            row.length.eq(length),
            row.pointer.eq(pointer),
        ]
        return m


def held_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Row for the entry reader: whether it is the lane's ``last``, its ``length``, the ``place`` of
    its first entry in a block, and whether that block is ``held``: it is still present, and no new
    one is read."""
    place_bits = (config.layout.block_entries - 1).bit_length()
    return data.StructLayout(
        {"row": row_layout(config), "last": 1, "length": 32, "place": place_bits, "held": 1}
    )


class BlockRows(wiring.Component):
    """Converts pairs to spans of whole blocks, except a block that the previous row has already
    read.

    A row can take its first block over if it begins in the block in which the last row with
    entries ended, not before that row's end. Latency one cycle; a row a cycle.

    Members
    -------
    i: see ``paired_row_layout``
    o: see :func:`held_row_layout`
    spans: see ``span_layout``; what is to be read for these rows, in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._place_bits = (config.layout.block_entries - 1).bit_length()
        self._ended = data.StructLayout({**dict(_fields(config)), "final": 33})
        super().__init__(
            {
                "i": In(stream.Signature(paired_row_layout(config))),
                "o": Out(stream.Signature(held_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, bits = self._config, self._place_bits
        m.submodules.ended = ended = OutputRegister(self._ended, clearable=True)
        m.d.comb += [
            ended.clear.eq(self.clear),
            ended.i.valid.eq(self.i.valid),
            self.i.ready.eq(ended.i.ready),
            # The row's last entry.
            ended.i.payload.final.eq(self.i.payload.pointer + self.i.payload.length - 1),
        ]
        for name, _ in _fields(config):
            m.d.comb += ended.i.payload[name].eq(self.i.payload[name])
        # Rows go to the row queue, and to the spans if a block has to be read.
        m.submodules.row_fork = fork = Fork(self._ended, 2)
        wiring.connect(m, ended.o, fork.i)
        row = ended.o.payload
        begin, final = row.pointer[bits:], row.final[bits:]
        held = self._held(m, ended)
        some = Signal()
        blocks = Signal(33 - bits + 1)
        needs = Signal()
        m.d.comb += [
            some.eq(row.length != 0),
            blocks.eq(final - begin + ~held),
            needs.eq(some & (blocks != 0)),
            fork.to.eq(Cat(1, needs)),
        ]
        kept, asked = fork.o
        fields = {name: kept.payload[name] for name in ("row", "last", "length")}
        place = kept.payload.pointer[:bits]
        connect_fields(m, kept, self.o, **fields, place=place, held=held)
        beats = Cat(Const(0, (config.burst_beats - 1).bit_length()), blocks)
        channel = asked.payload.channel
        connect_fields(m, asked, self.spans, channel=channel, block=begin + held, beats=beats)
        return m

    def _held(self, m: Module, ended: OutputRegister) -> Signal:
        """Returns whether the row can reuse the block in which the last row ended."""
        row, bits = ended.o.payload, self._place_bits
        some_held = Signal()
        block = Signal(33 - bits, reset_less=True)
        place = Signal(bits, reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(
            some_held
            & (channel == row.channel)
            & (block == row.pointer[bits:])
            & (row.pointer[:bits] >= place)
        )
        with m.If(self.clear):
            m.d.sync += some_held.eq(0)
        with m.Elif(ended.o.valid & ended.o.ready & row.last):
            m.d.sync += some_held.eq(0)
        with m.Elif(ended.o.valid & ended.o.ready & (row.length != 0)):
            m.d.sync += [
                some_held.eq(~row.final[:bits].all()),
                block.eq(row.final[bits:]),
                place.eq(row.final[:bits] + 1),
                channel.eq(row.channel),
            ]
        return held


def _fields(config: MatRaptorConfig) -> list[tuple[str, object]]:
    return [(name, field.shape) for name, field in paired_row_layout(config)]


class RowEntries(wiring.Component):
    """Sends the entries of each row, or a token for a row without entries. Latency one cycle; one
    token per cycle, except for the beats of a block that no row uses.

    Members
    -------
    i: see ``held_row_layout``
    beats: whole blocks
    o: see ``left_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(held_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(left_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.block = block = HeldBlock(config.geometry)
        m.submodules.sent = sent = SkidBuffer(left_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.beats), block.beats)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        shift = config.beat_entries.bit_length() - 1
        # After the first entry of a row, and after the lane's last row.
        within = Signal()
        after = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        empty = Signal()
        ends = Signal()
        place = walked_place(m, row.place, within=within, moved=block.take)
        number = place[:shift]
        done = (number == config.beat_entries - 1) if shift else Const(1)
        value, column = entry_of(config.layout, self.beats.payload.data, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            empty.eq(~within & (row.length == 0)),
            ends.eq(empty | (left == 1)),
            block.clear.eq(self.clear),
            block.want.eq(self.i.valid & ~empty),
            block.next.eq(~within & ~row.held),
            block.beat.eq(place[shift:]),
            block.discard.eq(after & ~self.i.valid),
            block.take.eq(block.here & sent.i.ready),
            block.done.eq(done),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (empty | block.here)),
            self.i.ready.eq(sent.i.valid & sent.i.ready & ends),
            token.value.eq(value),
            token.column.eq(column),
            token.present.eq(~empty),
            token.row_last.eq(ends),
            token.lane_last.eq(ends & row.last),
            token.row.eq(row.row),
        ]
        with m.If(block.take):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += after.eq(row.last)
        with m.If(self.clear):
            m.d.sync += [within.eq(0), after.eq(0)]
        return m


class SparseALoader(wiring.Component):
    """Walks the lane's rows, prefetches their pairs, then reads and sends their entries.

    Pairs and entries are read by whole blocks of the interleaving. A block of pairs is read once;
    a block of entries once for all rows that follow each other in the lane and, with ascending
    pointers, in the block. One token a cycle: over long rows always, over short ones as long as the
    ``a_bursts`` rows that are read ahead last for the memory's latency.

    Source: MatRaptor, section on its architecture (SpAL).

    Members
    -------
    job: in; constant from ``start`` on
    lane, rows_in_lane: in; the lane's number and how many rows it has; constant like the job
    start: in, a pulse when ``idle``
    o: see ``left_layout``
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is left to be done, the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows_in_lane": In(32),
                "start": In(1),
                "o": Out(stream.Signature(left_layout(config))),
                **reader_members(config.geometry, config.a_bursts),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        busy = Signal()
        readers = {name: array_reader(config.geometry, config.a_bursts) for name in READERS}
        for name, reader in readers.items():
            m.submodules[f"{name}_reader"] = reader
        connect_readers(m, self, readers, busy)
        m.submodules.pairs = pairs = RowPairs(config)
        m.submodules.rows = rows = BlockRows(config)
        m.submodules.waiting = waiting = DeepQueue(
            held_row_layout(config), config.a_bursts, register=True
        )
        m.submodules.entries = entries = RowEntries(config)
        self._request_pairs(m, readers["pairs"])
        self._walk(m, "rows", pairs)
        m.submodules.entries_walk = walk = StripeWalk(config.geometry, skid=True)
        wiring.connect(m, pairs.beats, readers["pairs"].o)
        wiring.connect(m, pairs.o, rows.i)
        wiring.connect(m, rows.spans, walk.i)
        wiring.connect(m, walk.o, readers["entries"].request)
        wiring.connect(m, rows.o, waiting.i)
        wiring.connect(m, waiting.o, entries.i)
        wiring.connect(m, entries.beats, readers["entries"].o)
        wiring.connect(m, entries.o, wiring.flipped(self.o))
        m.d.comb += walk.base.eq(self.job.a_entries)
        for part in (pairs, rows, waiting, entries, walk):
            m.d.comb += part.clear.eq(self.stop)
        with m.If(self.start):
            m.d.sync += busy.eq(self.rows_in_lane != 0)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.lane_last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        return m

    def _walk(self, m: Module, name: str, pairs: RowPairs | None = None) -> RowWalk:
        """A walk over the lane's rows."""
        walk = RowWalk(self._config)
        m.submodules[f"{name}_walk"] = walk
        m.d.comb += [
            walk.start.eq(self.start),
            walk.clear.eq(self.stop),
            walk.lane.eq(self.lane),
            walk.rows.eq(self.job.rows),
            walk.rows_in_lane.eq(self.rows_in_lane),
        ]
        if pairs is not None:
            wiring.connect(m, walk.o, pairs.rows)
        return walk

    def _request_pairs(self, m: Module, reader: OrderedReader) -> None:
        """A block of pairs for each first row in one."""
        config = self._config
        walk = self._walk(m, "blocks")
        m.submodules.pairs_walk = spans = StripeWalk(config.geometry, skid=True)
        wiring.connect(m, spans.o, reader.request)
        row, span = walk.o.payload, spans.i.payload
        m.d.comb += [
            spans.base.eq(self.job.a_pairs),
            spans.clear.eq(self.stop),
            spans.i.valid.eq(walk.o.valid & row.first),
            walk.o.ready.eq(~row.first | spans.i.ready),
            span.channel.eq(row.channel),
            span.block.eq(row.row.index.shift_right((config.layout.block_pairs - 1).bit_length())),
            span.beats.eq(config.burst_beats),
        ]
