"""GTA: p-GEMMs of every number format on one array, from memory to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from ..axi.burst_reader import BurstReader
from ..axi.burst_writer import BurstWriter
from ..axi.interconnect import ReadInterconnect
from ..job.accelerator_top import AcceleratorTop
from ..spec.gta import GtaConfig
from ..spec.jobs.gta import COMMANDS_BITS, ID_BITS, READS, burst_beats, job_spec
from ..spec.jobs.gta_commands import KINDS, MEMORIES
from .control.command_check import CommandCheck
from .control.command_queue import CommandQueue
from .control.command_reader import CommandReader
from .control.counters import Counters
from .control.executes_under_way import ExecutesUnderWay
from .control.job_control import JobControl
from .control.layouts import counts_layout, request_bits
from .layouts import LaneMemoryName
from .load.lane_loader import LaneLoader
from .store.lane_storer import LaneStorer

__all__ = ["Gta"]


class Gta(AcceleratorTop):
    """Carries out a list of commands: LOADs, EXECUTEs and STOREs, each kind in order, each command
    once as many of the others are complete as it says (``hw/spec/jobs/gta_commands.py``).

    What is computed says ``sim/gta/golden``, bit for bit.

    Source: GTA: a new General Tensor Accelerator with Better Area Efficiency and Data Reuse,
    section 4; the commands and the movement of data are ours.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    cluster: what makes the lanes, see :class:`LaneCluster`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, m1_axi_*: AXI4 managers; of two the first one reads and the second one writes
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(
        self, config: GtaConfig, *, cluster: Callable[[GtaConfig], wiring.Component]
    ) -> None:
        self._config = config
        self._cluster = cluster
        super().__init__(
            job_spec(config),
            config.managers,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=ID_BITS,
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.control = control = JobControl(config)
        m.submodules.command_reader = commands = CommandReader(config)
        m.submodules.command_check = check = CommandCheck(config)
        m.submodules.loader = loader = LaneLoader(config)
        m.submodules.storer = storer = LaneStorer(config)
        cluster: Any = self._cluster(config)
        m.submodules.cluster = cluster
        reader, writer = self._bus(m, control, commands, loader, storer)
        queues = self._queues(m, control, check)
        wiring.connect(m, commands.o, check.words)
        wiring.connect(m, queues["load"].o, loader.command)
        wiring.connect(m, queues["store"].o, storer.command)
        m.d.comb += [
            commands.list.eq(control.job_list),
            commands.commands.eq(control.job_commands),
            commands.start.eq(control.go),
            check.csr.eq(control.csr),
            check.start.eq(control.go),
            check.clear.eq(control.stop),
            control.command_wrong.eq(check.wrong),
            control.command.eq(check.number),
            loader.stop.eq(control.stop),
            storer.stop.eq(control.stop),
            cluster.csr.eq(control.csr),
            cluster.write.eq(loader.write),
            loader.write_ready.eq(
                cluster.write_ready | (loader.write.memory != LaneMemoryName.RESULT)
            ),
            cluster.read.eq(storer.read),
            storer.read_ready.eq(cluster.read_ready),
            storer.words.eq(cluster.read_data),
        ]
        executes = self._execute(m, control, queues["execute"], cluster)
        complete = self._complete(m, control, queues, loader, storer, executes, writer)
        bus_idle = reader.idle & writer.idle & commands.idle
        quiet = Signal()
        m.d.comb += [
            quiet.eq(bus_idle & ~loader.busy & ~storer.busy & ~cluster.busy),
            control.quiet.eq(quiet),
            control.finished.eq(quiet & (complete == check.passed.as_value())),
        ]
        counters = self._counters(m, control, queues, executes, commands, loader, storer)
        self.connect_registers(m, control, counters)
        return m

    def _bus(
        self,
        m: Module,
        control: JobControl,
        commands: CommandReader,
        loader: LaneLoader,
        storer: LaneStorer,
    ) -> tuple[BurstReader, BurstWriter]:
        """The managers, and what reads and writes there; returns the rows' reader and writer."""
        config = self._config
        burst = burst_beats(config)
        settings = {
            "addr_bits": config.addr_bits,
            "data_bits": config.data_bits,
            "outstanding": config.outstanding,
            "count_bits": request_bits(config),
            "burst_beats": burst,
            "buffer_beats": 2 * burst,
        }
        m.submodules.reader = reader = BurstReader(**settings)
        m.submodules.writer = writer = BurstWriter(**settings)
        m.submodules.reads = reads = ReadInterconnect(
            len(READS), addr_bits=config.addr_bits, data_bits=config.data_bits, id_bits=ID_BITS
        )
        parts: tuple[Any, ...] = (commands, reader)
        for index, part in enumerate(parts):
            wiring.connect(m, part.ar, reads.reader_ar[index])
            wiring.connect(m, reads.reader_r[index], part.r)
            m.d.comb += [
                part.stop.eq(control.stop),
                control.read_error[index].eq(part.error),
                getattr(control, f"{READS[index]}_address").eq(part.error_address),
            ]
        wiring.connect(m, loader.request, reader.request)
        wiring.connect(m, reader.o, loader.i)
        wiring.connect(m, storer.request, writer.request)
        wiring.connect(m, storer.o, writer.i)
        m.d.comb += [
            writer.stop.eq(control.stop),
            control.write_error.eq(writer.error),
            control.write_address.eq(writer.error_address),
        ]
        if config.managers == 1:
            self.connect_manager(m, 0, read=reads, write=writer)
        else:
            self.connect_manager(m, 0, read=reads)
            self.connect_manager(m, 1, write=writer)
        return reader, writer

    def _queues(
        self, m: Module, control: JobControl, check: CommandCheck
    ) -> dict[str, CommandQueue]:
        queues = {}
        for kind, checked in zip(KINDS, check.o, strict=True):
            m.submodules[f"{kind}_queue"] = queues[kind] = queue = CommandQueue(self._config, kind)
            wiring.connect(m, checked, queue.i)
            m.d.comb += queue.clear.eq(control.stop)
        return queues

    def _execute(
        self, m: Module, control: JobControl, queue: CommandQueue, cluster: Any
    ) -> ExecutesUnderWay:
        """Products to the lanes."""
        m.submodules.executes = executes = ExecutesUnderWay(self._config)
        m.d.comb += [
            cluster.command.valid.eq(queue.o.valid & executes.i.ready & ~control.stop),
            cluster.command.payload.eq(queue.o.payload),
            queue.o.ready.eq(cluster.command.ready & executes.i.ready & ~control.stop),
            executes.i.valid.eq(queue.o.valid & queue.o.ready),
            executes.i.payload.eq(queue.o.payload.group),
            executes.ended.eq(cluster.done),
            executes.clear.eq(control.stop | control.taken),
        ]
        for lane in range(self._config.lanes):
            m.d.comb += executes.masks[lane].eq(control.csr.masks[lane])
        return executes

    def _complete(
        self,
        m: Module,
        control: JobControl,
        queues: dict[str, CommandQueue],
        loader: LaneLoader,
        storer: LaneStorer,
        executes: ExecutesUnderWay,
        writer: BurstWriter,
    ) -> Value:
        """How many commands are complete: a STORE when the bus has said so of all before it, too,
        and nothing is on its way to the bus."""
        complete = Signal(counts_layout())
        loads = Signal(COMMANDS_BITS, name="complete_loads")
        stores = Signal(COMMANDS_BITS, name="complete_stores")
        sent = Signal(COMMANDS_BITS, name="sent_stores")
        m.d.comb += [
            complete.loads.eq(loads),
            complete.executes.eq(executes.complete),
            complete.stores.eq(stores),
        ]
        with m.If(loader.done):
            m.d.sync += loads.eq(loads + 1)
        with m.If(storer.sent):
            m.d.sync += sent.eq(sent + 1)
        with m.If(writer.idle):
            m.d.sync += stores.eq(sent)
        with m.If(control.taken):
            m.d.sync += [loads.eq(0), stores.eq(0), sent.eq(0)]
        for queue in queues.values():
            m.d.comb += queue.complete.eq(complete)
        return complete.as_value()

    def _counters(
        self,
        m: Module,
        control: JobControl,
        queues: dict[str, CommandQueue],
        executes: ExecutesUnderWay,
        commands: CommandReader,
        loader: LaneLoader,
        storer: LaneStorer,
    ) -> Counters:
        m.submodules.counters = counters = Counters(self._config)
        queue = queues["execute"]
        still = control.running & ~executes.some
        wants = dict(zip((name for name, _ in counts_layout()), queue.wants, strict=True))
        beat = loader.i.valid & loader.i.ready
        at_results = loader.write.memory == LaneMemoryName.RESULT
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.running.eq(control.running),
            counters.active.eq(executes.active),
            counters.executed.eq(executes.completes),
            counters.listed.eq(commands.r.valid & commands.r.ready),
            counters.loaded.eq(Cat(beat & (loader.memory == n) for n in range(len(MEMORIES)))),
            counters.waits.eq(
                Cat(
                    still & ~queue.some,
                    still & queue.some & wants["loads"],
                    still & queue.some & ~wants["loads"] & wants["stores"],
                    (loader.write.enable & at_results & ~loader.write_ready)
                    | (storer.read.enable & ~storer.read_ready),
                )
            ),
        ]
        with m.If(storer.o.valid & storer.o.ready):
            m.d.comb += counters.strobe.eq(storer.o.payload.strobe)
        return counters
