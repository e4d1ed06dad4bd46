"""GTA: p-GEMMs of every number format on one array, from memory to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.burst_reader import BurstReader
from ..axi.burst_writer import BurstWriter
from ..axi.interconnect import ReadInterconnect
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import Activity, count, counter_members, ones
from ..spec.gta import COLS, ROWS, GtaConfig
from ..spec.jobs.gta import COMMANDS_BITS, ID_BITS, READS, beat_bytes, burst_beats, job_spec
from ..spec.jobs.gta_commands import COMMAND_BYTES, KINDS, MEMORIES
from ..stream.queue import DeepQueue
from .control.command_check import CommandCheck
from .control.job_control import CommandReader, ExecutesUnderWay, JobControl
from .control.layouts import command_layout, counts_layout, load_layout, request_bits, store_layout
from .lane_loader import LaneLoader
from .layouts import LaneMemoryName, pgemm_layout
from .store.lane_storer import LaneStorer

WAITS = ("list", "loads", "stores", "results")
"""Events whose wait cycles are counted."""


class Counters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    active: of each lane, whether it works on a product
    executed: pulse: a product is complete
    listed: a beat of the list comes
    loaded: of each of ``MEMORIES``, whether a beat comes for it
    strobe: of a beat that is written; 0 else
    waits: of each of ``WAITS``, whether it happens
    and the counters, outputs
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "executed", "listed")},
                "active": In(config.lanes),
                "loaded": In(len(MEMORIES)),
                "strobe": In(beat_bytes(config)),
                "waits": In(len(WAITS)),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self._config, beat_bytes(self._config)
        m.submodules.activity = activity = Activity()
        lanes = Signal(range(config.lanes + 1))
        written = Signal(range(beat + 1))
        beats = Signal(2)
        m.d.sync += [
            lanes.eq(ones(self.active)),
            written.eq(ones(self.strobe)),
            beats.eq(self.listed + self.loaded.any()),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.active.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "operations", self.executed)
        count(m, self, "bytes_read", beats * beat)
        count(m, self, "bytes_written", written)
        counted = {"bytes_list": self.listed}
        counted |= {f"bytes_{name}": self.loaded[n] for n, name in enumerate(MEMORIES)}
        for name, bit in counted.items():
            new = Signal(name=f"new_{name}")
            m.d.sync += new.eq(bit)
            count(m, self, name, new * beat)
        count(m, self, "element_cycles", lanes * (ROWS * COLS))
        for n, name in enumerate(WAITS):
            # Whether an access of results waits is known late.
            count(m, self, f"wait_{name}", self.waits[n], late=name == "results")
        return m


_DEPTH = 4


def queued_layout(config: GtaConfig, kind: str) -> data.StructLayout:
    """A command of a kind, as what carries it out takes it."""
    layouts = {"load": load_layout, "execute": pgemm_layout, "store": store_layout}
    return layouts[kind](config)


class CommandQueue(wiring.Component):
    """Queues up to five commands; offers each in order, once enough others are complete.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    kind: of the commands

    Members
    -------
    i: commands that hold, as they are in memory
    o: see :func:`queued_layout`
    complete: in; how many of each kind are
    some: out; there is one
    wants: out; the first one waits for others: a bit for each kind
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: GtaConfig, kind: str) -> None:
        self._config, self._kind = config, kind
        super().__init__(
            {
                "i": In(stream.Signature(8 * COMMAND_BYTES)),
                "o": Out(stream.Signature(queued_layout(config, kind))),
                "complete": In(counts_layout()),
                "some": Out(1),
                "wants": Out(len(counts_layout().members)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inside = queued_layout(self._config, self._kind)
        layout = data.StructLayout({"needs": counts_layout(), "command": inside})
        m.submodules.queue = queue = DeepQueue(layout, _DEPTH)
        command = command_layout(self._kind)(self.i.payload)
        put, head = queue.i.payload, queue.o.payload
        halved = ("result_base", "result_stride") if self._kind == "execute" else ()
        for name, _ in inside:
            field: Value = command[name]
            # Words of results have 32 bytes.
            m.d.comb += put.command[name].eq(field[1:] if name in halved else field)
        kinds = [name for name, _ in counts_layout()]
        for name in kinds:
            m.d.comb += put.needs[name].eq(command[name])
        m.d.comb += [
            queue.clear.eq(self.clear),
            queue.i.valid.eq(self.i.valid),
            self.i.ready.eq(queue.i.ready),
            self.some.eq(queue.o.valid),
            self.wants.eq(Cat(self.complete[name] < head.needs[name] for name in kinds)),
            self.o.valid.eq(queue.o.valid & ~self.wants.any()),
            self.o.payload.eq(head.command),
            queue.o.ready.eq(self.o.ready & ~self.wants.any()),
        ]
        return m


class Gta(AcceleratorTop):
    """Executes a list of commands: LOADs, EXECUTEs and STOREs.

    Each kind is executed in order, each command once as many of the others are complete as it
    demands (``hw/spec/jobs/gta_commands.py``).

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
        self.config: Final = config
        self._cluster = cluster
        super().__init__(
            job_spec(config),
            config.managers,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=ID_BITS,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        """Connects the bus managers to readers and writers; returns those of rows."""
        config = self.config
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
            m.submodules[f"{kind}_queue"] = queues[kind] = queue = CommandQueue(self.config, kind)
            wiring.connect(m, checked, queue.i)
            m.d.comb += queue.clear.eq(control.stop)
        return queues

    def _execute(
        self, m: Module, control: JobControl, queue: CommandQueue, cluster: Any
    ) -> ExecutesUnderWay:
        """Products to the lanes."""
        m.submodules.executes = executes = ExecutesUnderWay(self.config)
        m.d.comb += [
            cluster.command.valid.eq(queue.o.valid & executes.i.ready & ~control.stop),
            cluster.command.payload.eq(queue.o.payload),
            queue.o.ready.eq(cluster.command.ready & executes.i.ready & ~control.stop),
            executes.i.valid.eq(queue.o.valid & queue.o.ready),
            executes.i.payload.eq(queue.o.payload.group),
            executes.ended.eq(cluster.done),
            executes.clear.eq(control.stop | control.taken),
        ]
        for lane in range(self.config.lanes):
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
        """Counts the complete commands of each kind.

        A STORE is complete when it has been sent and no write to the bus is in flight.
        """
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
        m.submodules.counters = counters = Counters(self.config)
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
