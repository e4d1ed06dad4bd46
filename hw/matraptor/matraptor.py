"""MatRaptor: products of sparse matrices, row by row, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.crossbar import ReadCrossbar
from ..axi.interconnect import ReadInterconnect
from ..axi.layouts import beat_layout, routed_layout, store_layout
from ..axi.managers import WriteManager
from ..axi.read_cache import EVENTS as CACHE_EVENTS
from ..axi.read_cache import CacheShape, ReadCache
from ..channels.beat_packer import count_bits, write_request_layout
from ..channels.c2sr_row_writer import WRITERS, C2srRowWriter
from ..job.accelerator_top import AcceleratorTop
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import CACHE_WAYS, READS, VALUE_READS, MatRaptorConfig
from ..stream.fork_join import connect_fields
from ..stream.multiplex import bypass_unless, multiplex
from .control import Control, failure_layout
from .counters import EVENTS, Counters
from .layouts import job_layout, left_layout
from .load.a_loader import SparseALoader
from .load.b_loader import SparseBLoader
from .load.csr_stream import CsrStream
from .merge.processing_element import ProcessingElement
from .outer.replay import OuterColumns


def _fields(source: Any) -> dict[str, Value]:
    """All fields of a stream's payload."""
    return {name: Value.cast(source.payload[name]) for name, _ in source.payload.shape()}


class Lane(wiring.Component):
    """Computes its rows of C: one after the other, or in the outer-product mode all at once.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    job: the job; constant from ``start`` on
    lane: the lane's number, constant
    rows: how many rows of the job it has, constant like the job
    tokens: (``csr``) entries of A in CSR, see ``left_layout``
    start: pulse: a job begins
    stop: level: drop everything
    ar, r: its readers, to and from the crossbar
    pair_request, pair_data, entry_request, entry_data: arrays of streams to burst writers, one for
        each of the lane's channels
    idle: its readers are owed nothing by the bus
    finished: all its rows are with the burst writers
    failure: see :func:`failure_layout`
    the members of ``EVENTS``: pulses, what happens
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._channel_bits = config.layout.channel_bits
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        slots, id_bits = config.lane_channels, config.lane_id_bits
        reads = routed_layout(config.addr_bits, self._channel_bits, id_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows": In(32),
                **{name: In(1) for name in ("start", "stop")},
                "ar": Out(stream.Signature(reads)),
                "r": In(
                    stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
                ),
                **{f"{name}_request": Out(request).array(slots) for name in WRITERS},
                **{f"{name}_data": Out(beat).array(slots) for name in WRITERS},
                **{name: Out(1) for name in ("idle", "finished")},
                "failure": Out(failure_layout(config)),
                **{name: Out(1) for name in EVENTS},
                **({"tokens": In(stream.Signature(left_layout(config)))} if config.csr else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.a_loader = a_loader = SparseALoader(config)
        m.submodules.b_loader = b_loader = SparseBLoader(config)
        m.submodules.processing_element = element = ProcessingElement(config)
        m.submodules.writer = writer = C2srRowWriter(
            config.geometry, config.layout, config.lane_map
        )
        wiring.connect(m, b_loader.o, element.i)
        wiring.connect(m, element.o, writer.i)
        for part in (a_loader, b_loader, element, writer):
            for name in ("job", "lane", "start", "stop"):
                if name in part.signature.members:
                    m.d.comb += getattr(part, name).eq(getattr(self, name))
        m.d.comb += [
            writer.pairs_base.eq(self.job.c_pairs),
            writer.entries_base.eq(self.job.c_entries),
            writer.capacity.eq(self.job.capacity),
        ]
        for name in WRITERS:
            for slot in range(config.lane_channels):
                for stream_name in (f"{name}_request", f"{name}_data"):
                    inner, outer = (getattr(x, stream_name)[slot] for x in (writer, self))
                    wiring.connect(m, inner, wiring.flipped(outer))
        causes: list[tuple[str, Value, dict[str, Value]]] = []
        if config.outer_product:
            causes = self._columns(m, a_loader, b_loader, element)
        elif config.csr:
            # Of A in CSR the lane's own loader has no rows.
            in_csr = self.job.a_format.any()
            multiplex(m, in_csr, (a_loader.o, self.tokens), b_loader.i)
            m.d.comb += a_loader.rows_in_lane.eq(Mux(in_csr, 0, self.rows))
            causes = [("pointers", b_loader.pointers_error, {"row": b_loader.pointers_row})]
        else:
            wiring.connect(m, a_loader.o, b_loader.i)
            m.d.comb += a_loader.rows_in_lane.eq(self.rows)
        m.d.comb += [
            self.idle.eq(a_loader.idle & b_loader.idle),
            self.finished.eq(writer.finished | (self.rows == 0)),
            self.multiplied.eq(element.multiplied),
            self.merge_step.eq(element.merge_step),
            self.stored_row.eq(writer.stored_row),
            self.stored_entry.eq(writer.stored_entry),
        ]
        self._read(m, a_loader, b_loader)
        self._fail(m, a_loader, b_loader, element, writer, causes)
        return m

    def _columns(
        self,
        m: Module,
        a_loader: SparseALoader,
        b_loader: SparseBLoader,
        element: ProcessingElement,
    ) -> list[tuple[str, Value, dict[str, Value]]]:
        """Connects the loaders in the outer-product mode, in which A arrives by columns; returns
        the failures that can occur there.

        As it is stored, A has a row for each row of B and lane.
        """
        config, job, mode = self._config, self.job, self.job.mode
        m.submodules.columns = columns = OuterColumns(config)
        bypass_unless(m, mode, a_loader.o, (columns.i, columns.o), b_loader.i)
        wiring.connect(m, columns.columns, element.columns)
        stored_rows = Mux(self.rows != 0, job.b_rows, 0)
        m.d.comb += [
            columns.rows_in_lane.eq(self.rows),
            columns.clear.eq(self.stop),
            element.rows_in_lane.eq(self.rows),
            a_loader.rows_in_lane.eq(Mux(mode, stored_rows, self.rows)),
        ]
        if config.lane_channels > 1:
            m.d.comb += a_loader.job.rows.eq(Mux(mode, job.b_rows * config.lanes, job.rows))
        return [
            ("index", columns.index_error, {"row": columns.error_row}),
            ("index", element.index_error, {"row": element.error_row}),
        ]

    def _read(self, m: Module, a_loader: SparseALoader, b_loader: SparseBLoader) -> None:
        """The loaders' readers, in the order of ``READS``, as one."""
        config = self._config
        numbers = {name: number for number, name in enumerate(READS)}
        if config.csr:
            numbers["b_values"] = VALUE_READS["b_values"]
        m.submodules.readers = readers = ReadInterconnect(
            1 + max(numbers.values()),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            channel_bits=self._channel_bits,
            slot_bits=config.slot_bits,
        )
        wiring.connect(m, readers.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), readers.r)
        for name, index in numbers.items():
            operand, what = name.split("_")
            loader: Any = {"a": a_loader, "b": b_loader}[operand]
            request, beat = getattr(loader, f"{what}_ar"), readers.reader_r[index]
            # The readers of one operand may have fewer slots, thus shorter IDs.
            connect_fields(m, request, readers.reader_ar[index], **_fields(request))
            connect_fields(m, beat, getattr(loader, f"{what}_r"), **_fields(beat))
            if name in READS:
                m.d.comb += getattr(self, name).eq(getattr(loader, f"read_beats_{what}"))
        if config.csr:
            beats = b_loader.read_beats_entries | b_loader.read_beats_values
            m.d.comb += self.b_entries.eq(beats)

    def _b_address(self, b_loader: SparseBLoader) -> Value:
        """The address of a failed read of B; of its block, where blocks are cached."""
        address, within = b_loader.error_address, self._config.geometry.block_shift
        return Cat(Const(0, within), address[within:]) if self._config.cache_bytes else address

    def _fail(
        self,
        m: Module,
        a_loader: SparseALoader,
        b_loader: SparseBLoader,
        element: ProcessingElement,
        writer: C2srRowWriter,
        others: list[tuple[str, Value, dict[str, Value]]],
    ) -> None:
        """The first of the lane's errors, in the order of the codes."""
        failure, spec = self.failure, job_spec(self._config)
        causes = [
            ("bus_read", a_loader.error, {"address": a_loader.error_address}),
            ("bus_read", b_loader.error, {"address": self._b_address(b_loader)}),
            ("index", b_loader.index_error, {"row": b_loader.index_row}),
            *others,
            ("unsorted", element.unsorted, {"row": element.error_row}),
            ("overflow", element.overflow, {"row": element.error_row}),
            ("region", writer.region, {"row": writer.region_row}),
        ]
        for error, holds, details in reversed(causes):
            with m.If(holds):
                m.d.comb += failure.code.eq(spec.code(error))
                m.d.comb += [failure[name].eq(detail) for name, detail in details.items()]


class MatRaptor(AcceleratorTop):
    """Computes ``C = A (x) B`` of sparse matrices in C2SR.

    Row ``i`` of C is computed by lane ``i % lanes``, from row ``i`` of A and the rows of B that its
    columns name. Values are added in the order that ``sim/matraptor/result/rows.py`` says, bit for
    bit. With ``outer_product`` there is a second mode, see ``sim/matraptor/result/outer.py``.

    Source: MatRaptor, sections on the row-wise product, on C2SR and on the architecture; the last
    chapter on the second mode.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, one a memory channel
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.control = control = Control(config)
        m.submodules.counters = counters = Counters(config)
        lanes = [Lane(config) for _ in range(config.lanes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane_{number}"] = lane
            m.d.comb += [
                lane.lane.eq(number),
                lane.job.eq(control.job),
                lane.rows.eq(control.lane_rows[number]),
                lane.start.eq(control.go),
                lane.stop.eq(control.stop),
                control.failures[number].eq(lane.failure),
            ]
            m.d.comb += [getattr(counters, name)[number].eq(getattr(lane, name)) for name in EVENTS]
        crossbar = self._read(m, lanes)
        parts: list[Any] = list(lanes)
        if config.csr:
            parts.append(self._stream(m, control, counters, lanes, crossbar))
        forgets: list[Value] = []
        writers = [self._write(m, control, lanes, channel) for channel in range(config.channels)]
        for manager in reversed(writers):
            with m.If(manager.error):
                m.d.comb += [
                    control.write_error.eq(1),
                    control.write_address.eq(manager.error_address),
                ]
        for channel in range(config.channels):
            read = SimpleNamespace(ar=crossbar.ar[channel], r=crossbar.r[channel])
            if config.cache_bytes:
                read = self._cache(m, control, counters, channel, read, writers[channel])
                forgets.append(read.forgets)
            self.connect_manager(m, channel, read=read, write=writers[channel])
        idle = [part.idle for part in parts] + [manager.idle for manager in writers]
        m.d.comb += [
            control.quiet.eq(Cat(idle).all()),
            # A job that reads nothing of B may be faster than the walk over the sets of the cache.
            control.finished.eq(
                control.quiet & Cat(lane.finished for lane in lanes).all() & ~Cat(forgets).any()
            ),
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            counters.waiting.eq(crossbar.conflicts),
        ]
        self.connect_registers(m, control, counters)
        return m

    def _read(self, m: Module, lanes: list[Lane]) -> ReadCrossbar:
        """The crossbar from the lanes' readers to the channels."""
        config = self.config
        m.submodules.crossbar = crossbar = ReadCrossbar(
            config.read_ports,
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            lane_id_bits=config.lane_id_bits,
            beat_queue=config.beat_queue,
        )
        for number, lane in enumerate(lanes):
            wiring.connect(m, lane.ar, crossbar.lane_ar[number])
            wiring.connect(m, crossbar.lane_r[number], lane.r)
        return crossbar

    def _stream(
        self,
        m: Module,
        control: Control,
        counters: Counters,
        lanes: list[Lane],
        crossbar: ReadCrossbar,
    ) -> CsrStream:
        """The reader of A in CSR. Its beats count as the first lane's, a failure as its row's."""
        m.submodules.a_stream = a_stream = CsrStream(self.config)
        wiring.connect(m, a_stream.ar, crossbar.lane_ar[-1])
        wiring.connect(m, crossbar.lane_r[-1], a_stream.r)
        m.d.comb += [
            a_stream.job.eq(control.job),
            a_stream.start.eq(control.go & control.job.a_format.any()),
            a_stream.stop.eq(control.stop),
            counters.a_pairs[0].eq(lanes[0].a_pairs | a_stream.read_beats_pairs),
            counters.a_entries[0].eq(lanes[0].a_entries | a_stream.read_beats_entries),
        ]
        for number, lane in enumerate(lanes):
            wiring.connect(m, a_stream.o[number], lane.tokens)
            mine = (a_stream.failure_lane == number) & (lane.failure.code == 0)
            with m.If((a_stream.failure.code != 0) & mine):
                m.d.comb += control.failures[number].eq(a_stream.failure)
        return a_stream

    def _cache(
        self,
        m: Module,
        control: Control,
        counters: Counters,
        channel: int,
        lanes: SimpleNamespace,
        writes: WriteManager,
    ) -> SimpleNamespace:
        """The cache of B in a channel: reads of A pass by, and writes of C drop their blocks."""
        config = self.config
        b_pairs = READS.index("b_pairs") << config.slot_bits
        m.submodules[f"cache_{channel}"] = cache = ReadCache(
            CacheShape(
                sets=config.cache_sets,
                ways=CACHE_WAYS,
                block_bytes=config.interleave,
                skipped_bits=config.cache_skipped_bits,
            ),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
            cached_bit=config.slot_bits + 1,
            fill_id=b_pairs,
            outstanding=config.outstanding,
            waiting=config.cache_waiting,
        )
        wiring.connect(m, lanes.ar, cache.ar)
        wiring.connect(m, cache.r, lanes.r)
        m.d.comb += [
            cache.flush.eq(control.flush),
            cache.drop.eq(writes.written),
            *(counters.cached[event][channel].eq(getattr(cache, event)) for event in CACHE_EVENTS),
        ]
        return SimpleNamespace(ar=cache.bus_ar, r=cache.bus_r, forgets=cache.forgets)

    def _write(self, m: Module, control: Control, lanes: list[Lane], channel: int) -> WriteManager:
        """The writers of all lanes whose rows are in a channel."""
        config = self.config
        slot = channel // config.lanes if config.lane_channels > 1 else 0
        users = [(lanes[number], slot) for number in config.writing_lanes(channel)]
        manager = WriteManager(
            len(users) * len(WRITERS),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
            outstanding=config.writer_outstanding,
            count_bits=count_bits(config.geometry),
            burst_beats=config.burst_beats,
            buffer_beats=2 * config.burst_beats,
            reports=int(config.cache_bytes > 0),
        )
        m.submodules[f"writers_{channel}"] = manager
        streams = [(lane, slot, name) for lane, slot in users for name in WRITERS]
        for index, (lane, slot, name) in enumerate(streams):
            wiring.connect(m, getattr(lane, f"{name}_request")[slot], manager.request[index])
            wiring.connect(m, getattr(lane, f"{name}_data")[slot], manager.i[index])
        m.d.comb += manager.stop.eq(control.stop)
        return manager
