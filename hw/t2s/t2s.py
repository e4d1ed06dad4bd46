"""An array that a mapping describes, from memory to memory."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import request_layout, store_layout
from ..axi.managers import ReadManager, WriteManager
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import Activity, count, counter_members, ones
from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.jobs.t2s import entries_parts, image_parts, job_spec, trips_register
from ..spec.t2s.config import ID_BITS, T2sConfig
from ..spec.t2s.parts import MemoryPart
from ..spec.t2s.sparse_parts import EntriesPart
from .array import PeArray
from .beat_packer import BeatPacker
from .loader import (
    Loader,
    RunWalker,
    connect_walk,
    job_layout,
    run_count_bits,
    through,
    walk_members,
    word_layout,
)
from .sparse.array import SparseArray
from .sparse.entries_loader import EntriesLoader, connect_image

_MOST_ASKED = 7
"""Most outstanding runs: a writer accepts some requests ahead of their data."""


class Unloader(wiring.Component):
    """Packs words into beats and requests their runs from a burst writer.

    Words come through the part's functions.

    The last beat of a run has strobes for the run's words only, and zeros behind them.

    Parameters
    ----------
    part: what is unloaded; its words are not repeated
    config: widths of addresses and beats

    Members
    -------
    start: pulse: a job begins
    stop: level: drop everything
    base, stride_*, trips_*: where the runs lie, see :func:`walk_members`; constant in a job
    running: runs are left that were not handed over
    i: the words
    request, o: streams to a burst writer
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        if part.repeats != 1:
            raise ValueError(f"words of {part.name} must not be repeated")
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "i": In(stream.Signature(word_layout(part.word_bits))),
                "request": Out(stream.Signature(request)),
                "o": Out(stream.Signature(store_layout(config.data_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._config
        m.submodules.walker = walker = RunWalker(part, config)
        m.submodules.packer = packer = BeatPacker(
            part.word_bits // 8, config.beat_bytes, part.run_words
        )
        for name in ("start", "stop", *walk_members(part, config)):
            m.d.comb += getattr(walker, name).eq(getattr(self, name))
        # Runs that were requested and not handed over to the end.
        asked = Signal(range(_MOST_ASKED + 1))
        asks = Signal()
        ends = Signal()
        m.d.comb += [
            self.request.valid.eq(walker.o.valid & (asked != _MOST_ASKED)),
            self.request.payload.address.eq(walker.o.payload),
            self.request.payload.beats.eq(part.run_beats(config.beat_bytes)),
            asks.eq(self.request.valid & self.request.ready),
            walker.o.ready.eq(asks),
            packer.clear.eq(self.stop),
            packer.i.valid.eq(self.i.valid & ~self.stop),
            packer.i.payload.eq(through(m, part.functions, self.i.payload.data)),
            self.i.ready.eq(packer.i.ready & ~self.stop),
            # Beats that nobody has requested are not handed over.
            self.o.valid.eq(packer.o.valid & (asked != 0)),
            self.o.payload.eq(packer.o.payload),
            packer.o.ready.eq(self.o.ready & (asked != 0)),
            ends.eq(self.o.valid & self.o.ready & packer.ends),
            self.running.eq(walker.running | (asked != 0)),
        ]
        with m.If(self.stop):
            m.d.sync += asked.eq(0)
        with m.Else():
            m.d.sync += asked.eq(asked + asks - ends)
        return m


class JobControl(wiring.Component):
    """Controls the state of the array, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/t2s.py``. After a bus error or a soft reset everything is dropped, and
    when the bus is quiet the array is idle.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error, read_address, write_error, write_address: of the bus, held until ``stop``
    finished: every word of the result is stored and answered for
    quiet: nothing is under way in the bus
    job: the job at hand, constant while it runs, see :func:`job_layout`
    taken: pulse: a job is taken, and will be checked
    go: pulse: begin
    stop: level: begin nothing more, drop all
    busy; done, error: pulses; code, detail: why the last job failed
    """

    def __init__(self, config: T2sConfig) -> None:
        self._spec = job_spec(config)
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(1),
                "write_error": In(1),
                "read_address": In(config.addr_bits),
                "write_address": In(config.addr_bits),
                "job": Out(job_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        wrong = first_broken(m, spec, self)
        failures = (
            (self.read_error, spec.code("bus_read"), self.read_address),
            (self.write_error, spec.code("bus_write"), self.write_address),
        )
        states = run_states(m, self, wrong, first_failure(m, spec, "bus", failures))
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in spec.members]
        return m


class Counters(wiring.Component):
    """Counters of ``hw/spec/jobs/t2s.py``; they keep their values after a job.

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    begins: the element farthest from the feeders begins products
    beats: beats that were read, a bit a loader
    wrote, strobe: a beat of results leaves, and its bytes
    """

    def __init__(self, config: T2sConfig) -> None:
        self._beat_bytes = config.beat_bytes
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "begins", "wrote")},
                "beats": In(len(image_parts(config)) - 1),
                "strobe": In(config.beat_bytes),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.activity = activity = Activity()
        new_beats = Signal(range(len(self.beats) + 1))
        new_bytes = Signal(range(self._beat_bytes + 1))
        m.d.sync += [
            new_beats.eq(ones(self.beats)),
            new_bytes.eq(ones(Cat(bit & self.wrote for bit in self.strobe))),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.begins),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
            # An element that starts products in a cycle does one iteration.
            self.operations.eq(activity.busy_cycles),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "bytes_read", new_beats * self._beat_bytes)
        count(m, self, "bytes_written", new_bytes)
        return m


class T2s(AcceleratorTop):
    """Executes a computation in the loops and the space that its mapping describes.

    Loaders bring the images of operands, as the host has laid them out; an unloader takes that of
    the result to memory. Outermost loops have their trip counts from registers.

    Of images of entries that no host lays out the result may be anything, and nothing else is
    written; where the end of a tile is missing, a job waits for it until a soft reset. The next job
    knows nothing of them.

    Source: T2S-Tensor, chapter 3 of the thesis; registers, memory and control are ours.

    Parameters
    ----------
    config: see :class:`T2sConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, ``config.managers`` of them
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: T2sConfig) -> None:
        self.config: Final = config
        super().__init__(
            job_spec(config),
            config.managers,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=ID_BITS,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self.config, self.config.plan
        m.submodules.control = control = JobControl(config)
        m.submodules.array = array = self._array(m, control)
        unloader = Unloader(plan.unloader, config)
        loaders: dict[str, Loader | EntriesLoader] = {
            **{part.name: EntriesLoader(part, config) for part in entries_parts(config)},
            **{part.name: Loader(part, config) for part in plan.loaders},
        }
        sides: dict[str, Any] = {**loaders, plan.unloader.name: unloader}
        drop = self._drop(m, control)
        for part in image_parts(config):
            side = sides[part.name]
            m.submodules[part.name] = side
            m.d.comb += [side.start.eq(control.go), side.stop.eq(drop)]
            if isinstance(part, EntriesPart):
                connect_image(m, part, side, control.job)
                for o, i in zip(side.o, getattr(array, f"i_{part.tensor}"), strict=True):
                    wiring.connect(m, o, i)
                continue
            connect_walk(m, part, side, control.job)
            if part is not plan.unloader:
                wiring.connect(m, side.o, getattr(array, f"i_{part.tensor}"))
        wiring.connect(m, array.o, unloader.i)
        m.d.comb += array.clear.eq(drop)
        bus_idle = self._bus(m, control, loaders, unloader)
        at_rest = ~Cat(side.running for side in sides.values()).any() & bus_idle
        m.d.comb += [control.finished.eq(at_rest), control.quiet.eq(at_rest)]
        self.connect_registers(m, control, self._counters(m, control, array, loaders, unloader))
        return m

    def _array(self, m: Module, control: JobControl) -> PeArray | SparseArray:
        """All between loaders and the unloader; tokens say where loops end of which a sparse
        operand has the entries."""
        plan = self.config.plan
        if plan.sparse:
            return SparseArray(plan)
        array = PeArray(plan, self.config.trip_bits)
        for index in plan.indices:
            trips = control.job[trips_register(index).lower()]
            m.d.comb += getattr(array, f"trips_{index}").eq(trips)
        return array

    def _drop(self, m: Module, control: JobControl) -> Value:
        """Tells whether all words are dropped.

        Words of images that the host does not lay out may be left at the end of a job. They are
        dropped a cycle later, before the next job can begin.
        """
        if not self.config.plan.sparse:
            return control.stop
        ended = Signal(name="ended")
        m.d.sync += ended.eq(control.done)
        return control.stop | ended

    def _bus(
        self,
        m: Module,
        control: JobControl,
        loaders: dict[str, Loader | EntriesLoader],
        unloader: Unloader,
    ) -> Value:
        """Connects the managers of the bus; returns whether no transfer is in flight."""
        config = self.config
        burst = config.burst_beats
        settings = {
            "addr_bits": config.addr_bits,
            "data_bits": config.data_bits,
            "id_bits": ID_BITS,
            "outstanding": config.outstanding,
            "count_bits": run_count_bits(config),
            "burst_beats": burst,
            "buffer_beats": max(2 * burst, min(128, config.outstanding * burst)),
        }
        idle = []
        failed: list[ReadManager] = []
        for number in range(config.managers):
            readers: ReadManager | None = None
            writers: WriteManager | None = None
            if users := config.readers(number):
                m.submodules[f"readers_{number}"] = readers = ReadManager(len(users), **settings)
                for index, part in enumerate(users):
                    loader = loaders[part.name]
                    wiring.connect(m, loader.request, readers.request[index])
                    wiring.connect(m, readers.o[index], loader.i)
                m.d.comb += readers.stop.eq(control.stop)
                failed.append(readers)
                idle.append(readers.idle)
            if config.writers(number):
                m.submodules.writers = writers = WriteManager(1, **settings)
                wiring.connect(m, unloader.request, writers.request[0])
                wiring.connect(m, unloader.o, writers.i[0])
                m.d.comb += [
                    writers.stop.eq(control.stop),
                    control.write_error.eq(writers.error),
                    control.write_address.eq(writers.error_address),
                ]
                idle.append(writers.idle)
            self.connect_manager(m, number, read=readers, write=writers)
        m.d.comb += control.read_error.eq(Cat(one.error for one in failed).any())
        # The last channel that failed; undefined without an error.
        m.d.comb += control.read_address.eq(failed[0].error_address)
        for one in failed[1:]:
            with m.If(one.error):
                m.d.comb += control.read_address.eq(one.error_address)
        return Cat(idle).all()

    def _counters(
        self,
        m: Module,
        control: JobControl,
        array: PeArray | SparseArray,
        loaders: dict[str, Loader | EntriesLoader],
        unloader: Unloader,
    ) -> Counters:
        m.submodules.counters = counters = Counters(self.config)
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            counters.begins.eq(array.busy),
            counters.beats.eq(Cat(one.i.valid & one.i.ready for one in loaders.values())),
            counters.wrote.eq(unloader.o.valid & unloader.o.ready),
            counters.strobe.eq(unloader.o.payload.strobe),
        ]
        return counters
