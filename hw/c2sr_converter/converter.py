"""The converter: sparse matrices from CSR to C2SR and back, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..axi.crossbar import ReadCrossbar
from ..axi.managers import WriteManager
from ..channels.array_readers import READERS
from ..channels.beat_packer import count_bits
from ..channels.c2sr_row_writer import WRITERS
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import count, counter_members, ones
from ..job.checks import first_broken
from ..job.states import DETAIL_BITS, control_members, first_failure, run_states
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..spec.jobs.c2sr_converter import job_spec
from ..stream.multiplex import Gate
from ..stream.stream_registers import SkidBuffer
from .reader import ConverterReader
from .writer import ConverterWriter, converter_job_layout

FAILURES = ("bus_read", "bus_write", "unsorted", "region")
"""Failures of a running job; the first one is reported."""


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
    STATUS tells the end: while a beat comes or a token is taken, the converter is not quiet, and
    the end is noted at the earliest in the cycle after that.

    Members
    -------
    clear: in, a pulse: a job is accepted
    go: in, a pulse: it begins
    mode: in; of the job, constant while it runs
    running: in; a job runs
    beats: in; of each reader, whether a beat has come
    stored_row, stored_entry: in, pulses: a row, an entry was taken
    and the counters, outputs
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        inputs = ("clear", "go", "mode", "running", "stored_row", "stored_entry")
        super().__init__(
            {
                **{name: In(1) for name in inputs},
                "beats": In(2),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        index_bytes = Signal(range(PAIR_BYTES + 1))
        entry_bytes = Mux(self.stored_entry, config.layout.entry_bytes, 0)
        m.d.comb += index_bytes.eq(
            Mux(
                self.mode,
                # One pointer more than rows.
                Mux(self.stored_row | self.go, POINTER_BYTES, 0),
                Mux(self.stored_row, PAIR_BYTES, 0),
            )
        )
        count(m, self, "cycles", self.running)
        count(m, self, "rows_done", self.stored_row, late=True)
        count(m, self, "entries", self.stored_entry, late=True)
        count(m, self, "bytes_read", ones(self.beats) * config.beat_bytes, late=True)
        count(m, self, "bytes_written", index_bytes + entry_bytes, late=True)
        return m


class Converter(AcceleratorTop):
    """Converts a sparse matrix from CSR to C2SR, or back. One entry per cycle.

    Rows come in their order, entries as they are. In CSR pointers and entries are at consecutive
    addresses; where they are in C2SR says ``C2srLayout``. Pairs and entries of C2SR are written
    without gaps, and read wherever the pairs say.

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
        m.submodules.reader = reader = ConverterReader(config)
        m.submodules.writer = writer = ConverterWriter(config)
        wiring.connect(m, reader.o, writer.i)
        for part in (reader, writer):
            m.d.comb += [
                part.job.eq(control.job),
                part.start.eq(control.go),
                part.stop.eq(control.stop),
            ]
        crossbar = self._read(m, reader)
        managers = [self._write(m, control, writer, n) for n in range(config.channels)]
        for channel in range(config.channels):
            read = SimpleNamespace(ar=crossbar.ar[channel], r=crossbar.r[channel])
            self.connect_manager(m, channel, read=read, write=managers[channel])
        quiet = reader.idle & Cat(manager.idle for manager in managers).all()
        m.d.comb += [
            control.quiet.eq(quiet),
            control.finished.eq(control.quiet & writer.finished),
            counters.clear.eq(control.taken),
            counters.go.eq(control.go),
            counters.mode.eq(control.job.mode),
            counters.running.eq(control.busy),
            counters.beats.eq(Cat(getattr(reader, f"read_beats_{name}") for name in READERS)),
            counters.stored_row.eq(writer.stored_row),
            counters.stored_entry.eq(writer.stored_entry),
        ]
        self._fail(m, control, reader, writer, managers)
        self.connect_registers(m, control, counters)
        return m

    def _read(self, m: Module, reader: ConverterReader) -> ReadCrossbar:
        """The crossbar from the two readers to the channels."""
        config = self.config
        m.submodules.crossbar = crossbar = ReadCrossbar(
            len(READERS),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            lane_id_bits=config.slot_bits,
        )
        for number, name in enumerate(READERS):
            wiring.connect(m, crossbar.lane_r[number], getattr(reader, f"{name}_r"))
        pairs_ar, entries_ar = crossbar.lane_ar
        asked: dict[str, Any] = {}
        for name in READERS:
            # The crossbar's grants go no further back than here.
            source = getattr(reader, f"{name}_ar")
            m.submodules[f"{name}_asked"] = buffer = SkidBuffer(
                source.payload.shape(), output_register=False
            )
            wiring.connect(m, source, buffer.i)
            asked[name] = buffer.o
        wiring.connect(m, asked["entries"], entries_ar)
        # Pairs are read ahead and can wait; an entry that does is a cycle without one.
        m.submodules.pairs_gate = gate = Gate(pairs_ar.payload.shape())
        wiring.connect(m, asked["pairs"], gate.i)
        wiring.connect(m, gate.o, pairs_ar)
        same = entries_ar.payload.channel == pairs_ar.payload.channel
        m.d.comb += gate.hold.eq(entries_ar.valid & same)
        return crossbar

    def _write(
        self, m: Module, control: ConverterControl, writer: ConverterWriter, channel: int
    ) -> WriteManager:
        """The burst writers of a channel."""
        config = self.config
        manager = WriteManager(
            len(WRITERS),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
            outstanding=config.outstanding,
            count_bits=count_bits(config.geometry),
            burst_beats=config.geometry.block_beats,
            buffer_beats=2 * config.geometry.block_beats,
        )
        m.submodules[f"writers_{channel}"] = manager
        for index, name in enumerate(WRITERS):
            for what, sink in (("request", manager.request[index]), ("data", manager.i[index])):
                # The bus's grants go no further back than here.
                buffer = SkidBuffer(sink.payload.shape(), output_register=False, clearable=True)
                m.submodules[f"{name}_{what}_{channel}"] = buffer
                wiring.connect(m, getattr(writer, f"{name}_{what}")[channel], buffer.i)
                wiring.connect(m, buffer.o, sink)
                m.d.comb += buffer.clear.eq(control.stop)
        m.d.comb += manager.stop.eq(control.stop)
        return manager

    @staticmethod
    def _fail(
        m: Module,
        control: ConverterControl,
        reader: ConverterReader,
        writer: ConverterWriter,
        managers: list[WriteManager],
    ) -> None:
        m.d.comb += [
            control.bus_read.eq(reader.error),
            control.bus_read_detail.eq(reader.error_address),
            control.unsorted.eq(reader.unsorted),
            control.unsorted_detail.eq(reader.unsorted_row),
            control.region.eq(writer.region),
            control.region_detail.eq(writer.row),
        ]
        for manager in reversed(managers):
            with m.If(manager.error):
                m.d.comb += [
                    control.bus_write.eq(1),
                    control.bus_write_detail.eq(manager.error_address),
                ]
