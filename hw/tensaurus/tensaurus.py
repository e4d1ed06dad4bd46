"""Tensaurus: sparse and dense tensors times matrices, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..axi.interconnect import ReadInterconnect
from ..job.accelerator_top import AcceleratorTop
from ..job.activity import Activity, count, counter_members, ones
from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.jobs.tensaurus import job_spec
from ..spec.tensaurus import KERNELS, READS, TensaurusConfig
from .array.compute_array import ComputeArray
from .layouts import ROW_EVENTS, job_layout
from .load.matrix_loader import MatrixLoader
from .load.tensor_loader import TensorLoader
from .load.tile_fetcher import TileFetcher
from .store.matrix_store import MatrixStore

STREAM_ERRORS = ("index", "slice", "stream")
"""Faults of the entry of a stream."""


class Control(wiring.Component):
    """Controls the state of the accelerator, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/tensaurus.py``.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error: of each reader, in the order of ``READS``; ``<name>_address``: where
    write_error, write_address: the same of the writer
    tile_error, tile: of the list of tiles; which
    index_error, slice_error, stream_error: of a stream; ``entry`` of tile ``entry_tile``
    ready: a job may begin
    finished: the output is in memory, and nothing is in flight
    quiet: nothing is in flight on the bus
    job: the current job, constant while it runs
    running: the job has begun and has not ended
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`

    Errors are held until ``stop``.
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        self._spec = job_spec(config)
        address = config.addr_bits
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(len(READS)),
                **{f"{name}_address": In(address) for name in (*READS, "write")},
                "write_error": In(1),
                **{f"{name}_error": In(1) for name in ("tile", *STREAM_ERRORS)},
                **{name: In(32) for name in ("tile", "entry", "entry_tile")},
                "ready": In(1),
                "job": Out(job_layout(config)),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong = first_broken(m, self._spec, self)
        failed = self._failure(m)
        states = run_states(m, self, wrong, failed, self.ready, registered=True)
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in self._spec.members]
        begun = Signal()
        m.d.comb += self.running.eq(states.go | begun)
        m.d.sync += begun.eq(self.running & states.busy & ~states.done)
        return m

    def _failure(self, m: Module) -> tuple[Value, Value]:
        """The code (0: none) and the detail of the first thing that went wrong."""
        code = self._spec.code
        entry = Cat(self.entry, self.entry_tile)
        return first_failure(
            m,
            self._spec,
            "failure",
            [
                *(
                    (self.read_error[n], code("bus_read"), getattr(self, f"{name}_address"))
                    for n, name in enumerate(READS)
                ),
                (self.write_error, code("bus_write"), self.write_address),
                (self.tile_error, code("tile"), self.tile),
                *((getattr(self, f"{name}_error"), code(name), entry) for name in STREAM_ERRORS),
            ],
        )


class Counters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    clear: pulse: a job is accepted
    running: a job runs
    single: of the vectors of a product one value counts
    the members of ``ROW_EVENTS``, with ``_now`` behind them: of each row, whether it happens
    drained: a vector leaves the rows
    sent: bytes of the result that are sent
    read: of each reader, in the order of ``READS``, and channel, whether a beat comes
    and the counters, outputs
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "single", "drained")},
                # Not to be taken for the counters of these names.
                **{f"{name}_now": In(config.rows) for name in ROW_EVENTS},
                "sent": In(range(config.line_bytes + 1)),
                "read": In(data.ArrayLayout(config.channels, len(READS))),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.activity = activity = Activity()
        products = Signal(config.rows, name="products_before")
        m.d.sync += products.eq(self.products_now)
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(products.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        count(m, self, "cycles", self.running)
        for name in ROW_EVENTS:
            new = Signal(range(config.rows + 1), name=f"new_{name}")
            # Rows wait between jobs, too.
            now = getattr(self, f"{name}_now") & self.running.replicate(config.rows)
            m.d.sync += new.eq(ones(now))
            count(m, self, name, new)
            if name == "products":
                each = 2 * new
                count(m, self, "operations", Mux(self.single, each, each * config.unit_values))
        beat_bytes = config.geometry.beat_bytes
        beats = []
        for reader, name in enumerate(READS):
            new = Signal(range(config.channels + 1), name=f"new_{name}")
            m.d.sync += new.eq(ones(self.read[reader]))
            beats.append(new)
            count(m, self, f"bytes_{name}", new * beat_bytes)
        count(m, self, "bytes_read", sum(beats, start=Cat()) * beat_bytes)
        count(m, self, "bytes_written", self.sent, late=True)
        count(m, self, "drains", self.drained)
        return m


class Tensaurus(AcceleratorTop):
    """Computes scalar-fiber products and then fiber-fiber products, tile by tile of a list in
    memory.

    What is computed, and in which order values are added, says ``sim/tensaurus/result``, bit for
    bit.

    Source: Tensaurus, sections on the compute pattern, on CISS and on the architecture.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, one a memory channel
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.geometry.data_bits,
            id_bits=config.id_bits,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.control = control = Control(config)
        m.submodules.counters = counters = Counters(config)
        m.submodules.tile_fetcher = fetcher = TileFetcher(config)
        m.submodules.matrix_loader = matrices = MatrixLoader(config)
        m.submodules.tensor_loader = tensor = TensorLoader(config)
        m.submodules.array = array = ComputeArray(config)
        m.submodules.store = store = MatrixStore(config)
        readers = (fetcher, matrices, tensor)
        users: tuple[Any, ...] = (matrices, tensor, store)
        for tiles, user in zip(fetcher.tiles, users, strict=True):
            wiring.connect(m, tiles, user.tiles)
        for part in (*readers, array, store):
            m.d.comb += part.job.eq(control.job)
        for part in (*readers, store):
            m.d.comb += part.stop.eq(control.stop)
        for row in range(config.rows):
            wiring.connect(m, tensor.slots[row], array.slots[row])
        wiring.connect(m, matrices.token, array.tiles)
        m.d.comb += [
            fetcher.start.eq(control.go),
            store.start.eq(control.go),
            array.unit_write.eq(matrices.unit_write),
            array.scalar_write.eq(matrices.scalar_write),
            matrices.row_done.eq(array.row_done),
            array.open.eq(store.open),
            array.hold.eq(store.hold),
            store.leaves.eq(array.leaves),
            array.clear.eq(control.stop),
            store.drain.eq(array.drain),
            store.drain_data.eq(array.drain_data),
            store.drained.eq(array.drained),
        ]
        beats = self._connect_bus(m, (*readers, store), store)
        m.d.comb += Cat(counters.read).eq(Cat(beats))
        self._connect_control(m, control, readers, array, store)
        m.d.comb += [
            counters.clear.eq(control.taken),
            counters.running.eq(control.running),
            counters.single.eq(control.job.kernel == KERNELS.index("mv")),
            counters.drained.eq(array.drain.valid),
            counters.sent.eq(store.sent),
        ]
        for name in ROW_EVENTS:
            m.d.comb += getattr(counters, f"{name}_now").eq(getattr(array, name))
        self.connect_registers(m, control, counters)
        return m

    def _connect_bus(self, m: Module, readers: tuple[Any, ...], store: MatrixStore) -> list[Value]:
        """Shares a channel's manager among its readers; returns by reader the channels that deliver
        a beat to it."""
        config = self.config
        beats: list[list[Value]] = [[] for _ in readers]
        for channel in range(config.channels):
            bus = ReadInterconnect(
                len(readers),
                addr_bits=config.addr_bits,
                data_bits=config.geometry.data_bits,
                slot_bits=config.slot_bits,
                id_bits=config.id_bits,
            )
            m.submodules[f"reads_{channel}"] = bus
            for number, reader in enumerate(readers):
                wiring.connect(m, reader.ar[channel], bus.reader_ar[number])
                wiring.connect(m, bus.reader_r[number], reader.r[channel])
                beats[number].append(bus.reader_r[number].valid & bus.reader_r[number].ready)
            write = SimpleNamespace(aw=store.aw[channel], w=store.w[channel], b=store.b[channel])
            self.connect_manager(m, channel, read=bus, write=write)
        return [Cat(of_reader) for of_reader in beats]

    def _connect_control(
        self,
        m: Module,
        control: Control,
        readers: tuple[Any, ...],
        array: ComputeArray,
        store: MatrixStore,
    ) -> None:
        """Connects the errors, the work in flight and the end of the job to the control."""
        fetcher, matrices, tensor = readers
        quiet = Cat(part.idle for part in (*readers, store)).all()
        m.d.comb += [
            control.read_error.eq(Cat(*(part.error for part in readers), store.read_error)),
            control.list_address.eq(fetcher.error_address),
            control.matrices_address.eq(matrices.error_address),
            control.tensor_address.eq(tensor.error_address),
            control.output_address.eq(store.read_error_address),
            control.write_error.eq(store.error),
            control.write_address.eq(store.error_address),
            control.tile_error.eq(fetcher.wrong),
            control.tile.eq(fetcher.number),
            control.entry.eq(tensor.error_entry),
            control.entry_tile.eq(tensor.error_tile),
            control.ready.eq(store.ready),
            control.quiet.eq(quiet),
            control.finished.eq(store.finished & array.quiet & quiet),
        ]
        for name in STREAM_ERRORS:
            m.d.comb += getattr(control, f"{name}_error").eq(getattr(tensor, f"{name}_error"))
