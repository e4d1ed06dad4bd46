"""MatRaptor: products of sparse matrices, row by row, from memory to memory."""

from __future__ import annotations

from types import SimpleNamespace

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from ..axi.crossbar import ReadCrossbar
from ..axi.managers import WriteManager
from ..channels.beat_packer import count_bits
from ..channels.c2sr_row_writer import WRITERS
from ..job.accelerator_top import AcceleratorTop
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import MatRaptorConfig
from .control import Control
from .counters import EVENTS, Counters
from .lane import Lane

__all__ = ["MatRaptor"]


class MatRaptor(AcceleratorTop):
    """``C = A (x) B`` of sparse matrices in C2SR.

    Row ``i`` of C is computed by lane ``i % lanes``, from row ``i`` of A and the rows of B that its
    columns name. Values are added in the order that ``sim/matraptor/result/rows.py`` says, bit for
    bit. With ``outer_product`` there is a second mode, see ``sim/matraptor/result/outer.py``.

    Source: MatRaptor, sections on the row-wise product, on C2SR and on the architecture; the last
    chapter on the second mode.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*, ...: AXI4 managers, one a memory channel
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            job_spec(config),
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
        )

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.control = control = Control(config)
        m.submodules.counters = counters = Counters(config)
        lanes = [Lane(config) for _ in range(config.lanes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane_{number}"] = lane
            m.d.comb += [
                lane.lane.eq(number),
                lane.job.eq(control.job),
                lane.rows.eq(control.lane_rows[number]),
                lane.start.eq(control.go),
                lane.stop.eq(control.stop),
                control.failures[number].eq(lane.failure),
            ]
            m.d.comb += [getattr(counters, name)[number].eq(getattr(lane, name)) for name in EVENTS]
        crossbar = self._read(m, lanes)
        writers = [self._write(m, control, lanes, channel) for channel in range(config.channels)]
        for manager in reversed(writers):
            with m.If(manager.error):
                m.d.comb += [
                    control.write_error.eq(1),
                    control.write_address.eq(manager.error_address),
                ]
        for channel in range(config.channels):
            read = SimpleNamespace(ar=crossbar.ar[channel], r=crossbar.r[channel])
            self.connect_manager(m, channel, read=read, write=writers[channel])
        idle = [lane.idle for lane in lanes] + [manager.idle for manager in writers]
        m.d.comb += [
            control.quiet.eq(Cat(idle).all()),
            control.finished.eq(control.quiet & Cat(lane.finished for lane in lanes).all()),
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            counters.waiting.eq(crossbar.conflicts),
        ]
        self.connect_registers(m, control, counters)
        return m

    def _read(self, m: Module, lanes: list[Lane]) -> ReadCrossbar:
        """The crossbar from the lanes' readers to the channels."""
        config = self._config
        m.submodules.crossbar = crossbar = ReadCrossbar(
            config.lanes,
            config.channels,
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            lane_id_bits=config.lane_id_bits,
        )
        for number, lane in enumerate(lanes):
            wiring.connect(m, lane.ar, crossbar.lane_ar[number])
            wiring.connect(m, crossbar.lane_r[number], lane.r)
        return crossbar

    def _write(self, m: Module, control: Control, lanes: list[Lane], channel: int) -> WriteManager:
        """The writers of all lanes whose rows are in a channel."""
        config = self._config
        slot = channel // config.lanes if config.lane_channels > 1 else 0
        users = [(lanes[number], slot) for number in config.writing_lanes(channel)]
        manager = WriteManager(
            len(users) * len(WRITERS),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            id_bits=config.id_bits,
            outstanding=config.writer_outstanding,
            count_bits=count_bits(config.geometry),
            burst_beats=config.burst_beats,
            buffer_beats=2 * config.burst_beats,
        )
        m.submodules[f"writers_{channel}"] = manager
        streams = [(lane, slot, name) for lane, slot in users for name in WRITERS]
        for index, (lane, slot, name) in enumerate(streams):
            wiring.connect(m, getattr(lane, f"{name}_request")[slot], manager.request[index])
            wiring.connect(m, getattr(lane, f"{name}_data")[slot], manager.i[index])
        m.d.comb += manager.stop.eq(control.stop)
        return manager
