"""Writes a matrix in CSR or in C2SR, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Array, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..channels.beat_packer import BeatPacker, WordPlacer, write_request_layout
from ..channels.c2sr_row_writer import WRITERS, C2srRowWriter
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..spec.jobs.c2sr_converter import BASES
from ..stream.fork_join import connect_fields
from ..stream.stream_registers import SkidBuffer


def converter_job_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A job, constant while it runs: its registers."""
    sizes: dict[str, ShapeLike] = {"mode": 1, "rows": 32, "capacity": 32}
    return data.StructLayout({**sizes, **dict.fromkeys(BASES, config.addr_bits)})


def found_row_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A row of the matrix that is read: ``length``, ``pointer`` to its first entry, counted in its
    ``channel`` (0 in CSR), and whether it is the ``last``."""
    return data.StructLayout(
        {"channel": config.layout.channel_bits, "length": 32, "pointer": 32, "last": 1}
    )


def entry_token_layout(config: C2srConverterConfig) -> data.StructLayout:
    """An entry if ``present``: ``value``, ``column``; ``row_last``: last token of its row;
    ``last``: and of the last row. An empty row is one token without an entry."""
    value = config.layout.format.bits
    fields: dict[str, ShapeLike] = {"value": value, "column": config.index_bits}
    return data.StructLayout({**fields, "present": 1, "row_last": 1, "last": 1})


def numbered_pointer_layout() -> data.StructLayout:
    """A row pointer and its ``number``."""
    return data.StructLayout({"pointer": 8 * POINTER_BYTES, "number": 32})


class PointerWriter(wiring.Component):
    """Packs the row pointers into beats and distributes their blocks over the channels.

    A pointer a cycle; ``i.ready`` is a register. A channel's request goes together with its last
    beat.

    Members
    -------
    base: in; address of the first pointer; constant from ``start`` on
    start: in, a pulse when ``empty``
    i: see :func:`numbered_pointer_layout`
    flush: in, level: no more pointers come, what is inside goes
    request, data: arrays of streams to burst writers, one a channel
    empty: out; nothing is inside
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        super().__init__(
            {
                "base": In(config.addr_bits),
                "start": In(1),
                "i": In(stream.Signature(numbered_pointer_layout())),
                "flush": In(1),
                "request": Out(request).array(config.channels),
                "data": Out(beat).array(config.channels),
                "empty": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # As an array in a single channel.
        flat = replace(self._config.geometry, channels=1)
        m.submodules.taken = taken = SkidBuffer(numbered_pointer_layout(), clearable=True)
        m.submodules.place = place = WordPlacer(flat, word_bytes=POINTER_BYTES, step=1)
        m.submodules.packer = packer = BeatPacker(flat, word_bytes=POINTER_BYTES)
        wiring.connect(m, wiring.flipped(self.i), taken.i)
        word = taken.o.payload
        connect_fields(m, taken.o, place.i, word=word.pointer, number=word.number)
        wiring.connect(m, place.o, packer.i)
        still = Signal()
        m.d.comb += [
            taken.clear.eq(self.clear),
            place.base.eq(self.base),
            place.clear.eq(self.clear),
            still.eq(~taken.o.valid & place.empty),
            packer.flush.eq(self.flush & still),
            packer.clear.eq(self.clear),
            self.empty.eq(still & packer.empty),
        ]
        self._deal(m, packer)
        return m

    def _deal(self, m: Module, packer: BeatPacker) -> None:
        """A request is of one block; the next one is of the next channel."""
        channel = Signal(self._config.layout.channel_bits)
        request, beat = packer.request, packer.o
        request_ready = Signal()
        beat_ready = Signal()
        m.d.comb += [
            request_ready.eq(Array(each.ready for each in self.request)[channel]),
            beat_ready.eq(Array(each.ready for each in self.data)[channel]),
            request.ready.eq(request_ready & (beat_ready | ~beat.valid)),
            beat.ready.eq(beat_ready & (request_ready | ~request.valid)),
        ]
        for number, (asked, sent) in enumerate(zip(self.request, self.data, strict=True)):
            mine = channel == number
            m.d.comb += [
                asked.payload.eq(request.payload),
                asked.valid.eq(request.valid & mine & (beat_ready | ~beat.valid)),
                sent.payload.eq(beat.payload),
                sent.valid.eq(beat.valid & mine & (request_ready | ~request.valid)),
            ]
        with m.If(request.valid & request.ready):
            m.d.sync += channel.eq(channel + 1)
            with m.If(channel == self._config.channels - 1):
                m.d.sync += channel.eq(0)
        with m.If(self.start):
            m.d.sync += channel.eq(0)


_BITS = 32


class ConverterWriter(wiring.Component):
    """Distributes entries over the channels: by rows for C2SR, by blocks for CSR. One token per
    cycle.

    An array at consecutive addresses is one in all channels, the blocks of which take the place of
    rows; thus :class:`C2srRowWriter` writes both. Row pointers of CSR take the pairs' way to
    memory.

    Members
    -------
    i: see ``entry_token_layout``
    job: in; constant from ``start`` on
    start: in, a pulse: a job begins
    stop: in, level: drop everything
    pair_request, pair_data, entry_request, entry_data: arrays of streams to burst writers, one a
        channel
    finished: out; the last row is with the burst writers
    region: out; there is no room for an entry, until ``stop``
    row: out; the row of the next token; with ``region``, the entry's
    stored_entry, stored_row: out, pulses: an entry, a row's last token was taken
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        channels = config.channels
        super().__init__(
            {
                "i": In(stream.Signature(entry_token_layout(config))),
                "job": In(converter_job_layout(config)),
                **{name: In(1) for name in ("start", "stop")},
                **{f"{name}_request": Out(request).array(channels) for name in WRITERS},
                **{f"{name}_data": Out(beat).array(channels) for name in WRITERS},
                **{name: Out(1) for name in ("finished", "region", "stored_entry", "stored_row")},
                "row": Out(_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token, to_csr = self._config, self.i.payload, self.job.mode
        m.submodules.rows = rows = C2srRowWriter(config.geometry, config.layout, config.lane_map)
        m.submodules.pointers = pointers = PointerWriter(config)
        taken = Signal()
        full = Signal()
        entries, first, ended, wrong = self._count(m, taken, full, pointers)
        word, result = pointers.i, rows.i.payload
        may = Signal()
        m.d.comb += [
            # In conversion to C2SR, the row writer checks this.
            full.eq(to_csr & token.present & (entries == self.job.capacity)),
            may.eq(~full & ~first & ~ended & ~self.stop),
            rows.i.valid.eq(self.i.valid & may & (word.ready | ~(to_csr & token.row_last))),
            self.i.ready.eq(may & rows.i.ready & (word.ready | ~(to_csr & token.row_last))),
            taken.eq(self.i.valid & self.i.ready),
            word.valid.eq(first | (self.i.valid & token.row_last & to_csr & may & rows.i.ready)),
            word.payload.pointer.eq(entries + (token.present & ~first)),
            word.payload.number.eq(Mux(first, 0, self.row + 1)),
            result.value.eq(token.value),
            result.column.eq(token.column),
            result.present.eq(token.present),
            result.row_last.eq(token.row_last & ~to_csr),
            result.lane_last.eq(token.last),
            self.region.eq(rows.region | wrong),
            self.stored_entry.eq(taken & token.present),
            self.stored_row.eq(taken & token.row_last),
            pointers.flush.eq(ended),
            self.finished.eq(rows.finished & pointers.empty),
        ]
        self._deal(m, rows, taken)
        self._start(m, rows, pointers)
        self._connect(m, rows, pointers)
        return m

    def _count(
        self, m: Module, taken: Value, full: Value, pointers: PointerWriter
    ) -> tuple[Value, Value, Value, Value]:
        """Counts the entries; returns their number, whether pointer 0 is next, whether all tokens
        have arrived, and whether CSR's entries exceed their region."""
        token = self.i.payload
        entries = Signal(_BITS, name="entries")
        first = Signal()
        ended = Signal()
        wrong = Signal()
        with m.If(taken):
            m.d.sync += [
                entries.eq(entries + token.present),
                self.row.eq(self.row + token.row_last),
                ended.eq(token.last),
            ]
        with m.If(pointers.i.ready):
            m.d.sync += first.eq(0)
        with m.If(self.i.valid & full):
            m.d.sync += wrong.eq(1)
        with m.If(self.start | self.stop):
            m.d.sync += [
                entries.eq(0),
                self.row.eq(0),
                ended.eq(0),
                first.eq(self.start & self.job.mode),
                wrong.eq(0),
            ]
        return entries, first, ended, wrong

    def _deal(self, m: Module, rows: C2srRowWriter, taken: Value) -> None:
        """The token's channel, and the row there."""
        config, token = self._config, self.i.payload
        place = Signal(range(config.layout.block_entries))
        channel = Signal(config.layout.channel_bits)
        index = Signal(config.index_bits)
        moves = Signal()
        m.d.comb += [
            rows.i.payload.row.index.eq(index),
            moves.eq(taken & Mux(self.job.mode, token.present & place.all(), token.row_last)),
        ]
        if config.channels > 1:
            m.d.comb += rows.i.payload.row.slot.eq(channel)
        with m.If(taken & token.present):
            m.d.sync += place.eq(place + 1)
        with m.If(moves):
            m.d.sync += channel.eq(channel + 1)
            with m.If(channel == config.channels - 1):
                m.d.sync += [channel.eq(0), index.eq(index + 1)]
        with m.If(self.start):
            m.d.sync += [place.eq(0), channel.eq(0), index.eq(0)]

    def _start(self, m: Module, rows: C2srRowWriter, pointers: PointerWriter) -> None:
        job = self.job
        most = (1 << _BITS) - 1
        m.d.comb += [
            rows.start.eq(self.start),
            rows.stop.eq(self.stop),
            rows.pairs_base.eq(job.c2sr_pairs),
            rows.entries_base.eq(Mux(job.mode, job.csr_entries, job.c2sr_entries)),
            rows.capacity.eq(Mux(job.mode, most, job.capacity)),
            pointers.start.eq(self.start),
            pointers.clear.eq(self.stop),
            pointers.base.eq(job.csr_pointers),
        ]

    def _connect(self, m: Module, rows: C2srRowWriter, pointers: PointerWriter) -> None:
        """Connects entries, and pairs or row pointers, to the burst writers."""
        for channel in range(self._config.channels):
            for what in ("request", "data"):
                entry: Any = getattr(rows, f"entry_{what}")[channel]
                wiring.connect(m, entry, wiring.flipped(getattr(self, f"entry_{what}")[channel]))
                pair: Any = getattr(rows, f"pair_{what}")[channel]
                pointer: Any = getattr(pointers, what)[channel]
                sink: Any = getattr(self, f"pair_{what}")[channel]
                m.d.comb += [
                    sink.valid.eq(Mux(self.job.mode, pointer.valid, pair.valid)),
                    sink.payload.eq(Mux(self.job.mode, pointer.payload, pair.payload)),
                    pair.ready.eq(sink.ready & ~self.job.mode),
                    pointer.ready.eq(sink.ready & self.job.mode),
                ]
