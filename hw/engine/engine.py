"""The tile engine: matrices of any size, from memory to memory, through a matrix unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring

from ..axi.managers import ReadManager, WriteManager
from ..job.accelerator_top import AcceleratorTop
from ..spec.engine import ID_BITS, EngineConfig
from ..spec.jobs.engine import job_spec
from ..spec.matrix_unit import MatrixUnitConfig
from ..stream.fork import Fork
from ..stream.queue import Queue
from .counters import Counters
from .feeder import Feeder, tag_layout
from .job_control import JobControl
from .left_scratchpad import LeftScratchpad
from .loader import Loader
from .result_scratchpad import ResultScratchpad
from .right_scratchpad import RightScratchpad
from .sequencer import Sequencer
from .storer import Storer

__all__ = ["Engine"]


class Engine(AcceleratorTop):
    """``D = C (+) A (x) B`` for matrices of any size in memory.

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
        self._config = config
        self._unit = unit
        super().__init__(
            job_spec(config),
            config.managers,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=ID_BITS,
        )

    @property
    def config(self) -> EngineConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        config = self._config
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
        m.submodules.scratchpad_a = left = LeftScratchpad(self._config)
        m.submodules.scratchpad_b = right = RightScratchpad(self._config)
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
            storer.beat.eq(result.beat),
            feeder.c.eq(result.tile),
        ]

    def _bus(
        self, m: Module, control: JobControl, loaders: dict[str, Loader], storer: Storer
    ) -> Value:
        """The managers; returns whether nothing is under way on any of them."""
        config = self._config
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
        m.submodules.counters = counters = Counters(self._config)
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
