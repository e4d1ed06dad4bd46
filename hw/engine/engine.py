"""The tile engine: matrices of any size, from memory to memory, through a matrix unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..axi.managers import ReadManager, WriteManager
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import Activity, counter_members, ones
from ..spec.engine import ID_BITS, EngineConfig
from ..spec.jobs.engine import job_spec
from ..spec.matrix_unit import MatrixUnitConfig
from ..stream.fork_join import Fork
from ..stream.queue import Queue
from .block_transfers import Loader, Storer, place_layout
from .feeder import Feeder, Sequencer, tag_layout
from .job_control import JobControl
from .layouts import Sizes, bits_for, is_part, log2, part_of
from .scratchpads import Bank, ResultScratchpad, RightScratchpad


class LeftScratchpad(wiring.Component):
    """Scratchpad for A, banked by rows of a tile. A word is a beat or a tile's row, whichever is
    longer.

    Latency one cycle from ``read`` to ``tile``, which stays until the next read.

    Members
    -------
    write, place, data: a beat of a row of A and where it belongs
    read, row, k, buffer: read the tile ``row`` tiles down and ``k`` tiles across
    tile: (rows, depth) lanes
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        lanes = data.ArrayLayout(config.unit.lane_bits, sizes.depth)
        super().__init__(
            {
                "write": In(1),
                "place": In(place_layout(config)),
                "data": In(config.data_bits),
                "read": In(1),
                "row": In(bits_for(sizes.block_rows)),
                "k": In(bits_for(sizes.block_depth)),
                "buffer": In(1),
                "tile": Out(data.ArrayLayout(lanes, sizes.rows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes, config = self._sizes, self._config
        width, beats = sizes.a_lanes * config.unit.lane_bits, sizes.a_lanes // sizes.beat_lanes
        tiles = sizes.a_lanes // sizes.depth
        beat_end = log2(sizes.block_depth * sizes.depth // sizes.beat_lanes)
        row_end = log2(sizes.block_rows * sizes.rows)
        written = Cat(
            self.place.beat[log2(beats) : beat_end],
            self.place.row[log2(sizes.rows) : row_end],
            self.place.buffer,
        )
        wanted = Cat(
            self.k[log2(tiles) : log2(sizes.block_depth)],
            self.row[: log2(sizes.block_rows)],
            self.buffer,
        )
        part = Signal(bits_for(tiles))
        if tiles > 1:
            with m.If(self.read):
                m.d.sync += part.eq(self.k[: log2(tiles)])
        for number in range(sizes.rows):
            bank = Bank(width=width, depth=1 << len(written), parts=beats)
            m.submodules[f"bank_{number}"] = bank
            chosen = self.write & is_part(self.place.row, 0, sizes.rows, number)
            parts = (chosen & is_part(self.place.beat, 0, beats, n) for n in range(beats))
            m.d.comb += [
                bank.write.eq(Cat(parts)),
                bank.write_address.eq(written),
                bank.write_data.eq(self.data.replicate(beats)),
                bank.read.eq(self.read),
                bank.read_address.eq(wanted),
                self.tile[number].eq(part_of(bank.read_data, tiles, part)),
            ]
        return m


class Counters(wiring.Component):
    """Counters of ``hw/spec/jobs/engine.py``; they keep their values after a job.

    ``busy_cycles`` and ``stalls`` together are the cycles from the first to the last cycle in
    which the unit had an operation at its input.

    Members
    -------
    clear: pulse: a job is accepted
    running: a job runs
    offered, taken: the unit has an operation at its input, takes it
    beats: beats that were read, a bit a reader
    wrote, strobe: a beat of D leaves, and its bytes
    """

    def __init__(self, config: EngineConfig) -> None:
        self._beat_bytes = config.beat_bytes
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "offered", "taken", "wrote")},
                "beats": In(3),
                "strobe": In(config.beat_bytes),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.activity = activity = Activity()
        new_beats = Signal(2)
        new_bytes = Signal(range(self._beat_bytes + 1))
        m.d.sync += [
            new_beats.eq(ones(self.beats)),
            new_bytes.eq(ones(Cat(bit & self.wrote for bit in self.strobe))),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.offered),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        m.d.sync += [
            self.cycles.eq(self.cycles + self.running),
            self.operations.eq(self.operations + self.taken),
            self.bytes_read.eq(self.bytes_read + new_beats * self._beat_bytes),
            self.bytes_written.eq(self.bytes_written + new_bytes),
        ]
        with m.If(self.clear):
            sums = ("cycles", "operations", "bytes_read", "bytes_written")
            m.d.sync += [getattr(self, name).eq(0) for name in sums]
        return m


class Engine(AcceleratorTop):
    """Computes ``D = C (+) A (x) B`` for matrices of any size in memory.

    D is computed block by block; the loads of the next blocks of A and B, of the next block of
    C, and the stores of the last block of D go on while a block is computed. An element of D is a
    chain of the unit's operations over k tiles in ascending order, bit for bit.

    Source: SIMD2, sections on the programming model and on the tiled algorithm; the blocks, the
    overlap and the bus are ours.

    Parameters
    ----------
    config: see :class:`EngineConfig`
    unit: what makes the matrix unit of ``config.unit``, see ``matrix_unit_signature``

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, ``config.managers`` of them
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(
        self, config: EngineConfig, *, unit: Callable[[MatrixUnitConfig], wiring.Component]
    ) -> None:
        self.config: Final = config
        self._unit = unit
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
        m.submodules.sequencer = sequencer = Sequencer(config)
        m.submodules.storer = storer = Storer(config)
        loaders = {operand: Loader(config, operand) for operand in "abc"}
        for operand, loader in loaders.items():
            m.submodules[f"loader_{operand}"] = loader
        parts: list[Any] = [sequencer, storer, *loaders.values()]
        for part in parts:
            begins = control.go & control.job.use_c if part is loaders["c"] else control.go
            m.d.comb += [
                part.job.eq(control.job),
                part.stop.eq(control.stop),
                part.start.eq(begins),
            ]
        for operand, loader in loaders.items():
            m.d.comb += getattr(sequencer, f"{operand}_loaded").eq(loader.loaded)
        m.d.comb += [
            loaders["a"].freed.eq(sequencer.chunk_done),
            loaders["b"].freed.eq(sequencer.chunk_done),
            loaders["c"].freed.eq(storer.stored & control.job.use_c),
            sequencer.stored.eq(storer.stored),
        ]
        unit = self._compute(m, control, sequencer, loaders, storer)
        bus_idle = self._bus(m, control, loaders, storer)
        at_rest = ~Cat(part.running for part in parts).any() & bus_idle
        m.d.comb += [control.finished.eq(at_rest), control.quiet.eq(at_rest)]
        counters = self._counters(m, control, unit, loaders, storer)
        self.connect_registers(m, control, counters)
        return m

    def _compute(
        self,
        m: Module,
        control: JobControl,
        sequencer: Sequencer,
        loaders: dict[str, Loader],
        storer: Storer,
    ) -> Any:
        """The feeder, the unit, and the way of its results; returns the unit."""
        config = self.config
        unit: Any = self._unit(config.unit)
        m.submodules.unit = unit
        m.submodules.feeder = feeder = Feeder(config)
        m.submodules.tags = tags = Queue(tag_layout(config), config.sum_cycles)
        m.submodules.scratchpad_c = result = ResultScratchpad(config)
        wiring.connect(m, sequencer.o, feeder.i)
        # The operands go past it.
        m.submodules.tag_fork = fork = Fork(tag_layout(config), 2)
        operation, noted = fork.o
        wiring.connect(m, noted, tags.i)
        m.d.comb += [
            feeder.job.eq(control.job),
            fork.i.valid.eq(feeder.o.valid),
            fork.i.payload.eq(feeder.tag),
            feeder.o.ready.eq(fork.i.ready),
            unit.i.valid.eq(operation.valid),
            unit.i.payload.eq(feeder.o.payload),
            operation.ready.eq(unit.i.ready),
            # Results never wait.
            unit.o.ready.eq(1),
            tags.o.ready.eq(unit.o.valid),
            sequencer.written.eq(unit.o.valid),
            result.write.eq(unit.o.valid),
            result.write_tile.eq(tags.o.payload.tile),
            storer.computed.eq(unit.o.valid & tags.o.payload.block_end),
        ]
        for row in range(config.unit.rows):
            for col in range(config.unit.cols):
                m.d.comb += result.write_data[row][col].eq(unit.o.payload.d[row][col])
        self._operands(m, control, sequencer, loaders, feeder)
        self._results(m, control, sequencer, loaders["c"], storer, feeder, result)
        return unit

    def _operands(
        self,
        m: Module,
        control: JobControl,
        sequencer: Sequencer,
        loaders: dict[str, Loader],
        feeder: Feeder,
    ) -> None:
        """The scratchpads of A and B between their loaders and the feeder."""
        m.submodules.scratchpad_a = left = LeftScratchpad(self.config)
        m.submodules.scratchpad_b = right = RightScratchpad(self.config)
        step = sequencer.o.payload
        for scratchpad, loader in ((left, loaders["a"]), (right, loaders["b"])):
            m.d.comb += [
                scratchpad.write.eq(loader.write),
                scratchpad.place.eq(loader.place),
                scratchpad.data.eq(loader.data),
                scratchpad.read.eq(feeder.read),
                scratchpad.k.eq(step.k),
                scratchpad.buffer.eq(step.chunk_buffer),
            ]
        m.d.comb += [
            left.row.eq(step.row),
            right.col.eq(step.col),
            right.transposed.eq(control.job.transposed_b),
            right.element.eq(control.job.element),
            feeder.a.eq(left.tile),
            feeder.b.eq(right.tile),
        ]

    def _results(
        self,
        m: Module,
        control: JobControl,
        sequencer: Sequencer,
        loader: Loader,
        storer: Storer,
        feeder: Feeder,
        result: ResultScratchpad,
    ) -> None:
        """The scratchpad of C and D between loader, feeder and storer."""
        step = sequencer.o.payload
        m.d.comb += [
            result.result.eq(control.job.result),
            result.load.eq(loader.write),
            result.load_place.eq(loader.place),
            result.load_data.eq(loader.data),
            result.read.eq(feeder.read),
            result.read_tile.row.eq(step.row),
            result.read_tile.col.eq(step.col),
            result.read_tile.buffer.eq(step.block_buffer),
            result.store.eq(storer.read),
            result.store_place.eq(storer.place),
            result.advance.eq(storer.advance),
            storer.beat.eq(result.beat),
            feeder.c.eq(result.tile),
        ]

    def _bus(
        self, m: Module, control: JobControl, loaders: dict[str, Loader], storer: Storer
    ) -> Value:
        """Connects the managers; returns whether all of them are idle."""
        config = self.config
        burst = config.burst_beats
        settings = {
            "addr_bits": config.addr_bits,
            "data_bits": config.data_bits,
            "id_bits": ID_BITS,
            "outstanding": config.outstanding,
            "count_bits": config.longest_row.bit_length(),
            "burst_beats": burst,
            "buffer_beats": max(2 * burst, min(128, config.outstanding * burst)),
        }
        idle = []
        for number in range(config.managers):
            users = config.readers(number)
            m.submodules[f"readers_{number}"] = readers = ReadManager(len(users), **settings)
            for index, operand in enumerate(users):
                wiring.connect(m, loaders[operand].request, readers.request[index])
                wiring.connect(m, readers.o[index], loaders[operand].i)
            m.d.comb += readers.stop.eq(control.stop)
            with m.If(readers.error):
                m.d.comb += [
                    control.read_error.eq(1),
                    control.read_address.eq(readers.error_address),
                ]
            writers = None
            if config.writers(number):
                m.submodules.writers = writers = WriteManager(1, **settings)
                wiring.connect(m, storer.request, writers.request[0])
                wiring.connect(m, storer.o, writers.i[0])
                m.d.comb += [
                    writers.stop.eq(control.stop),
                    control.write_error.eq(writers.error),
                    control.write_address.eq(writers.error_address),
                ]
                idle.append(writers.idle)
            idle.append(readers.idle)
            self.connect_manager(m, number, read=readers, write=writers)
        return Cat(idle).all()

    def _counters(
        self,
        m: Module,
        control: JobControl,
        unit: Any,
        loaders: dict[str, Loader],
        storer: Storer,
    ) -> Counters:
        m.submodules.counters = counters = Counters(self.config)
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            # Not the fork's valid, which waits for the queue of tags too.
            counters.offered.eq(m.submodules.feeder.o.valid),
            counters.taken.eq(unit.i.valid & unit.i.ready),
            counters.beats.eq(Cat(loader.write for loader in loaders.values())),
            counters.wrote.eq(storer.o.valid & storer.o.ready),
            counters.strobe.eq(storer.o.payload.strobe),
        ]
        return counters
