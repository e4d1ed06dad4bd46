"""Reads A in CSR once, for all lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.interconnect import ReadInterconnect
from ...axi.layouts import beat_layout, data_layout, routed_layout, supervise
from ...axi.ordered_reader import OrderedReader
from ...channels.array_readers import READERS, array_reader
from ...channels.stripe_walk import FlatBlocks, FlatSpans, StripeWalk
from ...spec.c2sr import POINTER_BYTES
from ...spec.jobs.matraptor import job_spec
from ...spec.matraptor import VALUE_READS, MatRaptorConfig
from ...stream.fork_join import connect_fields
from ...stream.queue import DeepQueue
from ...stream.stream_registers import SkidBuffer
from ..control import failure_layout
from ..layouts import job_layout, left_layout, row_layout
from .a_loader import paired_row_layout
from .b_lookup import POINTER_BITS, pointer_bits, pointers_of
from .csr_rows import StreamEntries, StreamRows, stream_row_layout

_NUMBERS = {"pairs": 0, "entries": 1, "values": VALUE_READS["a_values"]}
"""Readers, and their numbers in IDs."""


class RowStarts(wiring.Component):
    """Makes rows of the pointers of a matrix in CSR, in order. One row per cycle.

    Beats after that of the last pointer are dropped. A row whose pointers descend leaves as an
    empty one.

    Members
    -------
    start: in, a pulse while nothing is inside
    rows: in; rows of the matrix, at least one; sampled with ``start``
    beats: the pointers' beats, from the first one on
    o: see ``paired_row_layout``; ``last`` is that of the matrix; ``channel`` means nothing
    error, error_row, error_lane: out; pointers have descended and no ``clear`` since; the first
        such row, and its lane
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(32),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(paired_row_layout(config))),
                "error": Out(1),
                "error_row": Out(row_layout(config)),
                "error_lane": Out(config.lane_bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.found = found = SkidBuffer(paired_row_layout(config), clearable=True)
        wiring.connect(m, found.o, wiring.flipped(self.o))
        # Rows whose end has not been seen; whether the begin of the next one has.
        left = Signal(32)
        begun = Signal()
        begins = Signal(POINTER_BITS, reset_less=True)
        number = Signal(pointer_bits(config))
        ends = Signal(POINTER_BITS)
        descends = Signal()
        moved = Signal()
        row, lane = self._rows(m, found.i.valid & found.i.ready)
        m.d.comb += [
            ends.eq(Array(pointers_of(self.beats.payload.data))[number]),
            descends.eq(ends < begins),
            found.clear.eq(self.clear),
            found.i.valid.eq(self.beats.valid & begun & (left != 0)),
            moved.eq(self.beats.valid & (left != 0) & (~begun | found.i.ready)),
            self.beats.ready.eq((left == 0) | (moved & number.all())),
            found.i.payload.row.eq(row),
            found.i.payload.last.eq(left == 1),
            found.i.payload.length.eq(Mux(descends, 0, (ends - begins)[:POINTER_BITS])),
            found.i.payload.pointer.eq(begins),
        ]
        with m.If(moved):
            m.d.sync += [begun.eq(1), begins.eq(ends), number.eq(number + 1)]
            m.d.sync += left.eq(left - begun)
        with m.If(moved & begun & descends & ~self.error):
            m.d.sync += [self.error.eq(1), self.error_row.eq(row), self.error_lane.eq(lane)]
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), begun.eq(0), number.eq(0)]
        with m.If(self.clear):
            m.d.sync += [left.eq(0), self.error.eq(0)]
        return m

    def _rows(self, m: Module, advance: Value) -> tuple[Any, Signal]:
        """The row at hand within its lane, and the lane."""
        config = self._config
        row = Signal(row_layout(config))
        lane = Signal(config.lane_bits)
        channel = Signal(config.geometry.channel_bits)
        with m.If(advance):
            m.d.sync += [lane.eq(lane + 1), channel.eq(channel + 1)]
            with m.If(lane == config.lanes - 1):
                m.d.sync += lane.eq(0)
                if config.lane_channels > 1:
                    m.d.sync += row.slot.eq(row.slot + 1)
            with m.If(channel == config.channels - 1):
                m.d.sync += [channel.eq(0), row.index.eq(row.index + 1)]
                if config.lane_channels > 1:
                    m.d.sync += row.slot.eq(0)
        with m.If(self.start):
            m.d.sync += [lane.eq(0), channel.eq(0), row.eq(0)]
        return row, lane


class RowDealer(wiring.Component):
    """Deals the rows of A to the lanes in turn, each to a queue of its lane. One token per cycle.

    A token waits for its lane's queue, and holds back those after it.

    Members
    -------
    start: in, a pulse while nothing is inside
    rows: in; rows of A, sampled with ``start``
    i: see ``left_layout``; ``lane_last`` means nothing
    o: array of streams, one a lane; see ``left_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        tokens = stream.Signature(left_layout(config))
        super().__init__(
            {
                "start": In(1),
                "rows": In(32),
                "i": In(tokens),
                "o": Out(tokens).array(config.lanes),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token = self._config, self.i.payload
        lane = Signal(config.lane_bits)
        left = Signal(32)
        moved = Signal()
        ready = []
        for number in range(config.lanes):
            queue = DeepQueue(left_layout(config), config.stream_queue, register=True)
            m.submodules[f"tokens_{number}"] = queue
            wiring.connect(m, queue.o, wiring.flipped(self.o[number]))
            m.d.comb += [
                queue.clear.eq(self.clear),
                queue.i.valid.eq(self.i.valid & (lane == number)),
                queue.i.payload.eq(token),
                queue.i.payload.lane_last.eq(token.row_last & (left <= config.lanes)),
            ]
            ready.append(queue.i.ready)
        m.d.comb += [
            self.i.ready.eq(Array(ready)[lane]),
            moved.eq(self.i.valid & self.i.ready & token.row_last),
        ]
        with m.If(moved):
            m.d.sync += [lane.eq(lane + 1), left.eq(left - 1)]
            with m.If(lane == config.lanes - 1):
                m.d.sync += lane.eq(0)
        with m.If(self.start):
            m.d.sync += [lane.eq(0), left.eq(self.rows)]
        return m


class CsrStream(wiring.Component):
    """Reads A in CSR from begin to end and sends each lane the entries of its rows.

    Pointers and entries are read by whole blocks, each once. One pointer, and one entry or empty
    row a cycle, for all lanes together. Its requests have IDs as those of A in a lane.

    Members
    -------
    job: in; constant from ``start`` on
    start: in, a pulse when ``idle``
    o: array of streams, one a lane; see ``left_layout``
    ar, r: its readers, to and from the crossbar
    read_beats_pairs, read_beats_entries: out; a beat has come of pointers, or of the others
    stop: in, a pulse or longer; drops everything, from the next cycle on
    idle: out; nothing is left to be done, the bus owes nothing
    failure, failure_lane: out; see ``failure_layout``; until ``stop``; the lane of its row
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._channel_bits = config.geometry.channel_bits
        id_bits = config.lane_id_bits
        reads = routed_layout(config.addr_bits, self._channel_bits, id_bits)
        beat = beat_layout(config.data_bits, id_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "o": Out(stream.Signature(left_layout(config))).array(config.lanes),
                "ar": Out(stream.Signature(reads)),
                "r": In(stream.Signature(beat, always_ready=True)),
                **{f"read_beats_{name}": Out(1) for name in READERS},
                "stop": In(1),
                "idle": Out(1),
                "error": Out(1),
                "error_address": Out(config.addr_bits),
                "failure": Out(failure_layout(config)),
                "failure_lane": Out(config.lane_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        readers = self._read(m)
        m.submodules.starts = starts = RowStarts(config)
        m.submodules.rows = rows = StreamRows(config)
        m.submodules.waiting = waiting = DeepQueue(
            stream_row_layout(config), config.stream_rows, register=True
        )
        m.submodules.entries = entries = StreamEntries(config)
        m.submodules.dealer = dealer = RowDealer(config)
        self._request_pointers(m, readers["pairs"])
        wiring.connect(m, readers["pairs"].o, starts.beats)
        wiring.connect(m, starts.o, rows.i)
        self._walk(m, "entries", rows.spans, readers, self.job.a_entries)
        self._walk(m, "values", rows.value_spans, readers, self.job.a_values)
        wiring.connect(m, rows.o, waiting.i)
        wiring.connect(m, waiting.o, entries.i)
        wiring.connect(m, readers["entries"].o, entries.beats)
        wiring.connect(m, readers["values"].o, entries.values)
        wiring.connect(m, entries.o, dealer.i)
        for number in range(config.lanes):
            wiring.connect(m, dealer.o[number], wiring.flipped(self.o[number]))
        for part in (starts, dealer):
            m.d.comb += [part.start.eq(self.start), part.rows.eq(self.job.rows)]
        for part in (rows, entries):
            m.d.comb += [part.start.eq(self.start), part.split.eq(self.job.a_format[1])]
        for part in (starts, rows, waiting, entries, dealer):
            m.d.comb += part.clear.eq(self.stop)
        busy = Signal()
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(entries.o.valid & entries.o.ready & entries.o.payload.lane_last):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        supervise(m, self, [*readers.values()], busy=busy)
        self._fail(m, starts)
        return m

    def _walk(
        self, m: Module, name: str, spans: Any, readers: dict[str, OrderedReader], base: Value
    ) -> None:
        """From blocks of an array to its reader."""
        geometry = self._config.geometry
        m.submodules[f"{name}_spans"] = flat = FlatSpans(geometry)
        m.submodules[f"{name}_walk"] = walk = StripeWalk(geometry, skid=True, flat=True)
        wiring.connect(m, spans, flat.i)
        wiring.connect(m, flat.o, walk.i)
        wiring.connect(m, walk.o, readers[name].request)
        m.d.comb += [
            flat.enable.eq(1),
            walk.consecutive.eq(1),
            walk.base.eq(base),
            *(part.clear.eq(self.stop) for part in (flat, walk)),
        ]

    def _read(self, m: Module) -> dict[str, OrderedReader]:
        """The readers of pointers, of entries or columns, and of values, at one port."""
        config = self._config
        m.submodules.readers = port = ReadInterconnect(
            1 + max(_NUMBERS.values()),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.lane_id_bits,
            slot_bits=config.slot_bits,
            channel_bits=self._channel_bits,
        )
        wiring.connect(m, port.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), port.r)
        readers = {}
        for name, index in _NUMBERS.items():
            reader = array_reader(config.geometry, config.a_bursts)
            m.submodules[f"{name}_reader"] = readers[name] = reader
            # It may have fewer slots than a reader of B, thus shorter IDs.
            beat = port.reader_r[index]
            connect_fields(m, reader.ar, port.reader_ar[index], **_fields(reader.ar))
            connect_fields(m, beat, reader.r, **_fields(beat))
        pairs, *others = (reader.r.valid for reader in readers.values())
        m.d.comb += [self.read_beats_pairs.eq(pairs), self.read_beats_entries.eq(Cat(others).any())]
        return readers

    def _request_pointers(self, m: Module, reader: OrderedReader) -> None:
        """All blocks of pointers: there is one more than rows."""
        config = self._config
        m.submodules.pointer_blocks = blocks = FlatBlocks(config.geometry)
        m.submodules.pointers_walk = walk = StripeWalk(config.geometry, skid=True)
        wiring.connect(m, blocks.spans, walk.i)
        wiring.connect(m, walk.o, reader.request)
        shift = (config.interleave // POINTER_BYTES).bit_length() - 1
        left = Signal(33 - shift)
        m.d.comb += [
            blocks.start.eq(self.start),
            blocks.want.eq(left != 0),
            walk.base.eq(self.job.a_pairs),
            walk.clear.eq(self.stop),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.job.rows[shift:] + 1)
        with m.Elif(blocks.taken):
            m.d.sync += left.eq(left - 1)
        with m.If(self.stop):
            m.d.sync += left.eq(0)

    def _fail(self, m: Module, starts: RowStarts) -> None:
        failure, spec = self.failure, job_spec(self._config)
        m.d.comb += [
            failure.address.eq(self.error_address),
            failure.row.eq(starts.error_row),
            self.failure_lane.eq(starts.error_lane),
        ]
        with m.If(self.error):
            m.d.comb += failure.code.eq(spec.code("bus_read"))
        with m.Elif(starts.error):
            m.d.comb += failure.code.eq(spec.code("pointers"))


def _fields(source: Any) -> dict[str, Value]:
    return {name: Value.cast(source.payload[name]) for name, _ in source.payload.shape()}
