"""Tensaurus: sparse and dense tensors times matrices, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring

from ..axi.interconnect import ReadInterconnect
from ..job.accelerator_top import AcceleratorTop
from ..spec.jobs.tensaurus import job_spec
from ..spec.tensaurus import KERNELS, TensaurusConfig
from .array.compute_array import ComputeArray
from .control import STREAM_ERRORS, Control
from .counters import Counters
from .layouts import ROW_EVENTS
from .load.matrix_loader import MatrixLoader
from .load.tensor_loader import TensorLoader
from .load.tile_fetcher import TileFetcher
from .store.matrix_store import MatrixStore

__all__ = ["Tensaurus"]


class Tensaurus(AcceleratorTop):
    """Scalar-fiber products followed by fiber-fiber products, tile by tile of a list in memory.

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
        self._config = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.geometry.data_bits,
            id_bits=config.id_bits,
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        """A channel's readers share its manager; returns by reader which channels give it a
        beat."""
        config = self._config
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
        """What went wrong, what is under way, and whether the job has ended."""
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
