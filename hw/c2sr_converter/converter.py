"""The converter: sparse matrices from CSR to C2SR and back, from memory to memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..axi.crossbar import ReadCrossbar
from ..axi.managers import WriteManager
from ..channels.beat_packer import count_bits
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import count, counter_members, ones
from ..job.checks import first_broken
from ..job.states import DETAIL_BITS, control_members, first_failure, run_states
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..spec.jobs.c2sr_converter import BASES, job_spec
from ..stream.stream_registers import SkidBuffer
from .found_rows import IndexReader
from .index_writer import IndexWriter
from .lane import EntryLane
from .packet_router import PacketRouter
from .row_places import RowDealer, RowPlaces

FAILURES = ("bus_read", "bus_write", "unsorted", "region")
"""Failures of a running job; the first one is reported."""


_WRITERS = ("index", "entry")
_BEAT_QUEUE = 2
"""Beats that may wait in each channel for each reader. Lanes that read long rows in the same order
would else get their beats in convoys, of one lane from all channels at once."""


def converter_job_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A job, constant while it runs: its registers."""
    sizes: dict[str, ShapeLike] = {"mode": 1, "rows": 32, "capacity": 32}
    return data.StructLayout({**sizes, **dict.fromkeys(BASES, config.addr_bits)})


class ConverterControl(wiring.Component):
    """Controls the state of the converter, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/c2sr_converter.py``.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    the members of ``FAILURES``: each with ``_detail``, held until ``stop``
    finished: all is written, and nothing is in flight
    quiet: nothing is in flight on the bus
    job: the current job, constant while it runs
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._spec = job_spec(config)
        super().__init__(
            {
                **control_members(self._spec),
                **{name: In(1) for name in FAILURES},
                **{f"{name}_detail": In(DETAIL_BITS) for name in FAILURES},
                "job": Out(converter_job_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong = first_broken(m, self._spec, self)
        failures = [
            (getattr(self, name), self._spec.code(name), getattr(self, f"{name}_detail"))
            for name in FAILURES
        ]
        states = run_states(
            m, self, wrong, first_failure(m, self._spec, "failing", failures), registered=True
        )
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in self._spec.members]
        return m


class ConverterCounters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted two cycles after it, its cycle one. None comes later than two cycles before
    STATUS tells the end: while a beat comes or an entry is copied, the converter is not quiet, and
    the end is noted at the earliest in the cycle after that.

    Members
    -------
    clear: in, a pulse: a job is accepted
    go: in, a pulse: it begins
    mode: in; of the job, constant while it runs
    running: in; a job runs
    beats: in; of each reader, whether a beat has come
    taken_rows: in; of each row of a step, whether its index is taken
    copied_entries: in; of each lane, whether an entry is copied
    and the counters, outputs
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        inputs = ("clear", "go", "mode", "running")
        super().__init__(
            {
                **{name: In(1) for name in inputs},
                "beats": In(len(config.readers)),
                "taken_rows": In(config.step_rows),
                "copied_entries": In(config.lane_count),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        # Sums of bits, a cycle late, so that none is added to a counter at once.
        numbers: dict[str, Signal] = {}
        for name in ("beats", "taken_rows", "copied_entries"):
            bits: Value = getattr(self, name)
            numbers[name] = number = Signal(range(len(bits) + 1), name=f"number_of_{name}")
            m.d.sync += number.eq(ones(bits))
        # In CSR there is one pointer more than rows.
        begun = Signal()
        m.d.sync += begun.eq(self.go)
        rows = numbers["taken_rows"]
        index_bytes = Signal(range(PAIR_BYTES * config.step_rows + 1))
        m.d.comb += index_bytes.eq(
            Mux(self.mode, POINTER_BYTES * (rows + begun), PAIR_BYTES * rows)
        )
        entry_bytes = numbers["copied_entries"] * config.layout.entry_bytes
        count(m, self, "cycles", self.running)
        count(m, self, "rows_done", rows)
        count(m, self, "entries", numbers["copied_entries"])
        count(m, self, "bytes_read", numbers["beats"] * config.beat_bytes)
        count(m, self, "bytes_written", index_bytes + entry_bytes)
        return m


class Converter(AcceleratorTop):
    """Converts a sparse matrix from CSR to C2SR, or back. One entry per lane and cycle; one row per
    cycle, two if the number of lanes is even.

    Rows come in their order, and go to lanes round robin, which copy their entries as they are. In
    CSR pointers and entries are at consecutive addresses; where they are in C2SR says
    ``C2srLayout``. Pairs and entries of C2SR are written without gaps, and read wherever the pairs
    say.

    Source: MatRaptor, section on the sparse matrix format.

    Parameters
    ----------
    config: see :class:`C2srConverterConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, one a memory channel
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: C2srConverterConfig) -> None:
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
        m.submodules.control = control = ConverterControl(config)
        m.submodules.counters = counters = ConverterCounters(config)
        m.submodules.reader = reader = IndexReader(config)
        m.submodules.places = places = RowPlaces(config)
        m.submodules.dealer = dealer = RowDealer(config)
        m.submodules.index = index = IndexWriter(config)
        m.submodules.router = router = PacketRouter(config.geometry, config.lane_count)
        wiring.connect(m, reader.o, places.i)
        wiring.connect(m, places.o, dealer.i)
        wiring.connect(m, dealer.index, index.i)
        lanes = [self._lane(m, lane, control, dealer, router) for lane in range(config.lane_count)]
        job, to_csr = control.job, control.job.mode
        for part in (reader, places, dealer, index):
            m.d.comb += [part.start.eq(control.go), part.to_csr.eq(to_csr)]
        for part in (places, dealer, index, router):
            m.d.comb += part.clear.eq(control.stop)
        m.d.comb += [
            reader.rows.eq(job.rows),
            reader.base.eq(Mux(to_csr, job.c2sr_pairs, job.csr_pointers)),
            reader.stop.eq(control.stop),
            places.capacity.eq(job.capacity),
            index.base.eq(Mux(to_csr, job.csr_pointers, job.c2sr_pairs)),
        ]
        readers: list[IndexReader | EntryLane] = [reader, *lanes]
        crossbar = self._read(m, readers)
        sources = {"index": index, "entry": router}
        managers = [self._write(m, control, sources, n) for n in range(config.channels)]
        for channel in range(config.channels):
            read = SimpleNamespace(ar=crossbar.ar[channel], r=crossbar.r[channel])
            self.connect_manager(m, channel, read=read, write=managers[channel])
        parts: list[Any] = [*readers, *managers]
        ended = Cat(index.finished, router.idle, *(lane.finished for lane in lanes)).all()
        m.d.comb += [
            control.quiet.eq(Cat(part.idle for part in parts).all()),
            control.finished.eq(control.quiet & ended),
        ]
        self._count(m, control, counters, readers, index)
        self._fail(m, control, readers, places, managers)
        self.connect_registers(m, control, counters)
        return m

    def _lane(
        self,
        m: Module,
        number: int,
        control: ConverterControl,
        dealer: RowDealer,
        router: PacketRouter,
    ) -> EntryLane:
        """A lane, between the dealer and the router."""
        job = control.job
        m.submodules[f"lane_{number}"] = lane = EntryLane(self.config)
        wiring.connect(m, dealer.o[number], lane.i)
        wiring.connect(m, lane.packet, router.packet[number])
        wiring.connect(m, lane.beats, router.beats[number])
        m.d.comb += [
            lane.to_csr.eq(job.mode),
            lane.read_base.eq(Mux(job.mode, job.c2sr_entries, job.csr_entries)),
            lane.write_base.eq(Mux(job.mode, job.csr_entries, job.c2sr_entries)),
            lane.start.eq(control.go),
            lane.stop.eq(control.stop),
            lane.ended.eq(dealer.ended),
        ]
        return lane

    def _read(self, m: Module, readers: Sequence[IndexReader | EntryLane]) -> ReadCrossbar:
        """The crossbar from the readers to the channels."""
        config = self.config
        m.submodules.crossbar = crossbar = ReadCrossbar(
            len(readers),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            lane_id_bits=config.slot_bits,
            beat_queue=_BEAT_QUEUE,
            counts=0,
        )
        for number, reader in enumerate(readers):
            source: Any = reader.ar
            # The crossbar's grants go no further back than here.
            m.submodules[f"asked_{number}"] = buffer = SkidBuffer(
                source.payload.shape(), output_register=False
            )
            wiring.connect(m, source, buffer.i)
            wiring.connect(m, buffer.o, crossbar.lane_ar[number])
            wiring.connect(m, crossbar.lane_r[number], reader.r)
        return crossbar

    def _write(
        self, m: Module, control: ConverterControl, sources: dict[str, Any], channel: int
    ) -> WriteManager:
        """The burst writers of a channel."""
        config = self.config
        manager = WriteManager(
            len(_WRITERS),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
            outstanding=config.outstanding,
            count_bits=count_bits(config.geometry),
            burst_beats=config.geometry.block_beats,
            buffer_beats=2 * config.geometry.block_beats,
        )
        m.submodules[f"writers_{channel}"] = manager
        for index, name in enumerate(_WRITERS):
            for what, sink in (("request", manager.request[index]), ("data", manager.i[index])):
                # The bus's grants go no further back than here.
                buffer = SkidBuffer(sink.payload.shape(), output_register=False, clearable=True)
                m.submodules[f"{name}_{what}_{channel}"] = buffer
                wiring.connect(m, getattr(sources[name], what)[channel], buffer.i)
                wiring.connect(m, buffer.o, sink)
                m.d.comb += buffer.clear.eq(control.stop)
        m.d.comb += manager.stop.eq(control.stop)
        return manager

    @staticmethod
    def _count(
        m: Module,
        control: ConverterControl,
        counters: ConverterCounters,
        readers: Sequence[IndexReader | EntryLane],
        index: IndexWriter,
    ) -> None:
        taken = index.i.valid & index.i.ready
        _, *lanes = readers
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.go.eq(control.go),
            counters.mode.eq(control.job.mode),
            counters.running.eq(control.busy),
            counters.beats.eq(Cat(reader.read_beat for reader in readers)),
            counters.taken_rows.eq(Mux(taken, index.i.payload.some, 0)),
            counters.copied_entries.eq(Cat(lane.stored_entry for lane in lanes)),
        ]

    @staticmethod
    def _fail(
        m: Module,
        control: ConverterControl,
        readers: Sequence[IndexReader | EntryLane],
        places: RowPlaces,
        managers: list[WriteManager],
    ) -> None:
        m.d.comb += [
            control.unsorted.eq(places.unsorted),
            control.unsorted_detail.eq(places.row),
            control.region.eq(places.region),
            control.region_detail.eq(places.row),
        ]
        for name, parts in (("bus_read", readers), ("bus_write", managers)):
            for part in reversed(parts):
                with m.If(part.error):
                    m.d.comb += [
                        getattr(control, name).eq(1),
                        getattr(control, f"{name}_detail").eq(part.error_address),
                    ]
