"""Reads a matrix in CSR or in C2SR, row by row."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..channels.array_readers import (
    READERS,
    array_reader,
    connect_readers,
    entry_of,
    entry_place,
    reader_members,
)
from ..channels.stripe_walk import FlatBlocks, StripeWalk, span_layout
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..stream.queue import DeepQueue
from ..stream.stream_registers import SkidBuffer
from .row_spans import RowSpans, StripePairs, asked_span_layout
from .writer import converter_job_layout, entry_token_layout, found_row_layout

_BITS = 32


class RowPointers(wiring.Component):
    """Requests whole blocks of row pointers and converts them to rows. One row per cycle, a cycle
    of latency.

    A row that would end before it begins, or a first one that does not begin at 0, sets
    ``unsorted`` and does not come, nor do those behind it.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1; constant from ``start`` on
    spans: see ``span_layout``; a block each
    beats: those; data after the last pointer is dropped
    o: see ``found_row_layout``
    unsorted, unsorted_row: out; the error and its row, until ``start`` or ``clear``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_row_layout(config))),
                "unsorted": Out(1),
                "unsorted_row": Out(_BITS),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self.o.payload
        self._ask(m)
        active = Signal()
        first = Signal()
        done = Signal(_BITS, name="rows_done")
        before = Signal(_BITS, reset_less=True)
        right = Signal()
        moved = Signal()
        last = Signal()
        words = self._words(m, active)
        pointer, here = words.payload, words.valid
        m.d.comb += [
            right.eq((pointer >= before) | first),
            self.o.valid.eq(active & here & ~first & right & ~self.unsorted),
            row.pointer.eq(before),
            row.length.eq(pointer - before),
            row.last.eq(last),
            moved.eq((self.o.valid & self.o.ready) | (active & first & here)),
            words.ready.eq(~active | moved),
            self.unsorted_row.eq(done),
        ]
        with m.If(moved):
            m.d.sync += [before.eq(pointer), first.eq(0)]
            with m.If(~first):
                m.d.sync += [done.eq(done + 1), active.eq(~last)]
        # `last` is registered: it tells whether the row of the next cycle, which is this row or
        # the one after it, is the last one.
        m.d.sync += last.eq(Mux(moved & ~first, done + 2 == self.rows, done + 1 == self.rows))
        wrong = active & here & ((first & (pointer != 0)) | ~right)
        with m.If(self.start | self.clear):
            m.d.sync += [
                active.eq(self.start),
                first.eq(1),
                done.eq(0),
                self.unsorted.eq(0),
            ]
        with m.Elif(wrong):
            m.d.sync += self.unsorted.eq(1)
        return m

    def _ask(self, m: Module) -> None:
        block_pointers = self._config.interleave // POINTER_BYTES
        shift = block_pointers.bit_length() - 1
        left = Signal(_BITS + 1 - shift, name="blocks_to_ask")
        m.submodules.blocks = blocks = FlatBlocks(self._config.geometry)
        wiring.connect(m, blocks.spans, wiring.flipped(self.spans))
        m.d.comb += [blocks.start.eq(self.start), blocks.want.eq(left != 0)]
        with m.If(blocks.taken):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            # rows + 1 pointers.
            m.d.sync += left.eq((self.rows + block_pointers).shift_right(shift))
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _words(self, m: Module, active: Value) -> Any:
        """The pointers one by one, in a stream, the first ones while ``active``."""
        beat, bits = self.beats.payload.data, 8 * POINTER_BYTES
        count = len(beat) // bits
        number = Signal(range(count))
        m.submodules.words = words = SkidBuffer(bits, clearable=True)
        m.d.comb += [
            words.clear.eq(self.start | self.clear),
            words.i.valid.eq(active & self.beats.valid),
            words.i.payload.eq(
                Array(beat[bits * index : bits * (index + 1)] for index in range(count))[number]
            ),
            self.beats.ready.eq(~active | (words.i.ready & number.all())),
        ]
        with m.If(words.i.valid & words.i.ready):
            m.d.sync += number.eq(number + 1)
        with m.If(self.start):
            m.d.sync += number.eq(0)
        return words.o


class SharedEntries(wiring.Component):
    """Sends the entries of each row, or a token for a row without entries. Latency one cycle; one
    token per cycle.

    The last beat stays, for a row that begins in it.

    Members
    -------
    start: in, a pulse while nothing is inside
    i: see ``asked_span_layout``
    beats: those of the rows; what comes after the last row is dropped
    o: see ``entry_token_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "i": In(stream.Signature(asked_span_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(entry_token_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sent = sent = SkidBuffer(entry_token_layout(config), clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        # After the first entry of a row, and after the last row.
        within = Signal()
        after = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        kept = Signal(config.data_bits, reset_less=True)
        next_held = Signal()
        held = Signal()
        empty = Signal()
        ends = Signal()
        moved = Signal()
        number, beat_done = entry_place(m, config.beat_entries, row, within=within, moved=moved)
        beat = Mux(held, kept, self.beats.payload.data)
        value, column = entry_of(config.layout, beat, number)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            held.eq(Mux(within, next_held, row.held)),
            empty.eq(~within & (row.length == 0)),
            ends.eq(empty | (left == 1)),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (empty | held | self.beats.valid)),
            moved.eq(sent.i.valid & sent.i.ready),
            self.i.ready.eq(moved & ends),
            self.beats.ready.eq(after | (moved & ~empty & ~held & (ends | beat_done))),
            token.value.eq(value),
            token.column.eq(column),
            token.present.eq(~empty),
            token.row_last.eq(ends),
            token.last.eq(ends & row.last),
        ]
        with m.If(moved):
            m.d.sync += [
                within.eq(~ends),
                next_left.eq(left - 1),
                next_held.eq(held & ~beat_done),
            ]
            with m.If(ends & row.last):
                m.d.sync += after.eq(1)
        with m.If(self.beats.valid & self.beats.ready):
            m.d.sync += kept.eq(self.beats.payload.data)
        with m.If(self.start | self.clear):
            m.d.sync += [within.eq(0), after.eq(0)]
        return m


_AHEAD = 4
_LEAST_AHEAD = 64
"""Rows ahead of the entries that are sent, for each burst in flight and at least. If rows are
short, the next block of CSR's entries is requested when a row that ends in it is found."""


class ConverterReader(wiring.Component):
    """Finds the rows in order, and sends their entries.

    In C2SR it reads the beats that the rows are in, in CSR whole blocks. One token a cycle, rows of
    one entry included, as long as the bursts in flight last for the memory's latency.

    Members
    -------
    job: in; constant from ``start`` on
    start: in, a pulse when ``idle``
    o: see ``entry_token_layout``
    pairs_ar, pairs_r, entries_ar, entries_r: the bus, for each reader; row pointers are read by
        that of the pairs
    read_beats_pairs, read_beats_entries: out; a beat has come over the bus
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is left to be done, the bus owes nothing
    error, error_address: out; a bad response has come and no ``stop`` since, and where
    unsorted, unsorted_row: out; row pointers do not ascend, until ``stop``, and of which row
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(converter_job_layout(config)),
                "start": In(1),
                "o": Out(stream.Signature(entry_token_layout(config))),
                **reader_members(config.geometry, config.outstanding),
                "unsorted": Out(1),
                "unsorted_row": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        busy = Signal()
        readers = {name: array_reader(config.geometry, config.outstanding) for name in READERS}
        walks = {name: StripeWalk(config.geometry) for name in READERS}
        found: dict[str, Any] = {}
        for name, reader in readers.items():
            m.submodules[f"{name}_reader"] = reader
            m.submodules[f"{name}_walk"] = walks[name]
            # The crossbar's grants go no further back than here.
            requests = SkidBuffer(reader.request.payload.shape(), clearable=True)
            m.submodules[f"{name}_requests"] = requests
            wiring.connect(m, walks[name].o, requests.i)
            wiring.connect(m, requests.o, reader.request)
            # Behind the memory's access.
            m.submodules[f"{name}_beats"] = beats = SkidBuffer(
                reader.o.payload.shape(), clearable=True
            )
            wiring.connect(m, reader.o, beats.i)
            found[name] = beats.o
            m.d.comb += [requests.clear.eq(self.stop), beats.clear.eq(self.stop)]
        connect_readers(m, self, readers, busy)
        m.submodules.pairs = pairs = StripePairs(config)
        m.submodules.pointers = pointers = RowPointers(config)
        m.submodules.spans = spans = RowSpans(config)
        depth = max(_AHEAD * config.outstanding, _LEAST_AHEAD)
        m.submodules.waiting = waiting = DeepQueue(asked_span_layout(config), depth)
        # Behind the memory's access.
        m.submodules.next_row = next_row = SkidBuffer(asked_span_layout(config), clearable=True)
        m.submodules.entries = entries = SharedEntries(config)
        asked = {
            name: SkidBuffer(walks[name].i.payload.shape(), clearable=True) for name in READERS
        }
        for name, buffer in asked.items():
            m.submodules[f"{name}_asked"] = buffer
            wiring.connect(m, buffer.o, walks[name].i)
        wiring.connect(m, spans.spans, asked["entries"].i)
        wiring.connect(m, spans.o, waiting.i)
        wiring.connect(m, waiting.o, next_row.i)
        wiring.connect(m, next_row.o, entries.i)
        wiring.connect(m, found["entries"], entries.beats)
        wiring.connect(m, entries.o, wiring.flipped(self.o))
        flat = ~self.job.mode
        for used, rows in ((self.job.mode, pairs), (flat, pointers)):
            m.d.comb += [rows.start.eq(self.start & used), rows.rows.eq(self.job.rows)]
        with m.If(self.job.mode):
            self._find(m, pairs, found["pairs"], asked["pairs"], spans)
        with m.Else():
            self._find(m, pointers, found["pairs"], asked["pairs"], spans)
        m.d.comb += [
            walks["pairs"].base.eq(Mux(flat, self.job.csr_pointers, self.job.c2sr_pairs)),
            walks["entries"].base.eq(Mux(flat, self.job.csr_entries, self.job.c2sr_entries)),
            spans.flat.eq(flat),
            spans.start.eq(self.start),
            entries.start.eq(self.start),
            self.unsorted.eq(pointers.unsorted),
            self.unsorted_row.eq(pointers.unsorted_row),
        ]
        parts: list[Any] = [*walks.values(), *asked.values(), pairs, pointers]
        parts += [spans, waiting, next_row, entries]
        for part in parts:
            m.d.comb += part.clear.eq(self.stop)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        return m

    @staticmethod
    def _find(
        m: Module,
        rows: StripePairs | RowPointers,
        beats: Any,
        asked: SkidBuffer,
        spans: RowSpans,
    ) -> None:
        """Connects the component that finds the rows, while it is active."""
        streams = (
            (rows.spans, asked.i),
            (beats, rows.beats),
            (rows.o, spans.i),
        )
        for source, sink in streams:
            m.d.comb += [
                sink.valid.eq(source.valid),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready),
            ]
