"""The converter: sparse matrices from CSR to C2SR and back, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from ..axi.crossbar import ReadCrossbar
from ..axi.managers import WriteManager
from ..channels.array_readers import READERS
from ..channels.beat_packer import count_bits
from ..channels.c2sr_row_writer import WRITERS
from ..job.accelerator_top import AcceleratorTop
from ..spec.c2sr_converter import C2srConverterConfig
from ..spec.jobs.c2sr_converter import job_spec
from ..stream.gate import Gate
from .control import ConverterControl
from .counters import ConverterCounters
from .reader import ConverterReader
from .writer import ConverterWriter

__all__ = ["Converter"]


class Converter(AcceleratorTop):
    """Converts a sparse matrix from CSR to C2SR, or back. One entry a cycle.

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
        self._config = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
        )

    @property
    def config(self) -> C2srConverterConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        config = self._config
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
        wiring.connect(m, reader.entries_ar, entries_ar)
        # Pairs are read ahead and can wait; an entry that does is a cycle without one.
        m.submodules.pairs_gate = gate = Gate(pairs_ar.payload.shape())
        wiring.connect(m, reader.pairs_ar, gate.i)
        wiring.connect(m, gate.o, pairs_ar)
        same = entries_ar.payload.channel == pairs_ar.payload.channel
        m.d.comb += gate.hold.eq(entries_ar.valid & same)
        return crossbar

    def _write(
        self, m: Module, control: ConverterControl, writer: ConverterWriter, channel: int
    ) -> WriteManager:
        """The burst writers of a channel."""
        config = self._config
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
            wiring.connect(m, getattr(writer, f"{name}_request")[channel], manager.request[index])
            wiring.connect(m, getattr(writer, f"{name}_data")[channel], manager.i[index])
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
