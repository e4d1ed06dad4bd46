"""An array that a mapping describes, from memory to memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from ..axi.managers import ReadManager, WriteManager
from ..job.accelerator_top import AcceleratorTop
from ..spec.jobs.t2s import entries_parts, image_parts, job_spec, trips_register
from ..spec.t2s.config import ID_BITS, T2sConfig
from ..spec.t2s.sparse_parts import EntriesPart
from .array import PeArray
from .counters import Counters
from .job_control import JobControl
from .layouts import run_count_bits
from .loader import Loader
from .run_walker import connect_walk
from .sparse.array import SparseArray
from .sparse.entries_loader import EntriesLoader
from .sparse.image_requests import connect_image
from .unloader import Unloader

__all__ = ["T2s"]


class T2s(AcceleratorTop):
    """A computation in the loops and the space that its mapping says.

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
        self._config = config
        super().__init__(
            job_spec(config),
            config.managers,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=ID_BITS,
        )

    @property
    def config(self) -> T2sConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self._config, self._config.plan
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
        plan = self._config.plan
        if plan.sparse:
            return SparseArray(plan)
        array = PeArray(plan, self._config.trip_bits)
        for index in plan.indices:
            trips = control.job[trips_register(index).lower()]
            m.d.comb += getattr(array, f"trips_{index}").eq(trips)
        return array

    def _drop(self, m: Module, control: JobControl) -> Value:
        """Whether all words are dropped. Of images that no host lays out some may be left at the
        end of a job: they are dropped a cycle later, before the next one can begin."""
        if not self._config.plan.sparse:
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
        """The managers; returns whether nothing is under way on any of them."""
        config = self._config
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
                with m.If(readers.error):
                    m.d.comb += [
                        control.read_error.eq(1),
                        control.read_address.eq(readers.error_address),
                    ]
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
        return Cat(idle).all()

    def _counters(
        self,
        m: Module,
        control: JobControl,
        array: PeArray | SparseArray,
        loaders: dict[str, Loader | EntriesLoader],
        unloader: Unloader,
    ) -> Counters:
        m.submodules.counters = counters = Counters(self._config)
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            counters.begins.eq(array.busy),
            counters.beats.eq(Cat(one.i.valid & one.i.ready for one in loaders.values())),
            counters.wrote.eq(unloader.o.valid & unloader.o.ready),
            counters.strobe.eq(unloader.o.payload.strobe),
        ]
        return counters
