"""The row writer of one lane with its burst writers, behind AXI ports as the accelerator has."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.channels.beat_packer import count_bits
from tilewright.hw.channels.c2sr_row_writer import WRITERS, C2srRowWriter
from tilewright.hw.matraptor.layouts import job_layout, result_layout, row_layout
from tilewright.hw.spec.matraptor import MatRaptorConfig

__all__ = ["WriterTop"]


class WriterTop(wiring.Component):
    """A lane's row writer; ``m0_axi`` is the first of the lane's channels, and so on.

    Members are those of :class:`C2srRowWriter`, but that there is a ``job`` and ``finished`` waits
    for the bus; ``idle``: of the burst writers.
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._ports = [
            ManagerPort(
                prefix=f"m{slot}_axi",
                addr_bits=config.addr_bits,
                data_bits=config.data_bits,
                id_bits=1,
            )
            for slot in range(config.lane_channels)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members = {name: member for port in self._ports for name, member in port.members().items()}
        outputs = ("finished", "region", "stored_entry", "stored_row", "idle")
        super().__init__(
            {
                **members,
                "i": In(stream.Signature(result_layout(config))),
                "job": In(job_layout(config)),
                "lane": In(max(1, (config.lanes - 1).bit_length())),
                **{name: In(1) for name in ("start", "stop")},
                **{name: Out(1) for name in outputs},
                "region_row": Out(row_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.writer = writer = C2srRowWriter(
            config.geometry, config.layout, config.lane_map
        )
        wiring.connect(m, wiring.flipped(self.i), writer.i)
        m.d.comb += [
            writer.pairs_base.eq(self.job.c_pairs),
            writer.entries_base.eq(self.job.c_entries),
            writer.capacity.eq(self.job.capacity),
        ]
        for name in ("lane", "start", "stop"):
            m.d.comb += getattr(writer, name).eq(getattr(self, name))
        for name in ("region", "stored_entry", "stored_row", "region_row"):
            m.d.comb += getattr(self, name).eq(getattr(writer, name))
        idle = []
        for slot, port in enumerate(self._ports):
            manager = WriteManager(
                len(WRITERS),
                addr_bits=config.addr_bits,
                data_bits=config.data_bits,
                id_bits=1,
                outstanding=config.outstanding,
                count_bits=count_bits(config.geometry),
                burst_beats=config.burst_beats,
                buffer_beats=2 * config.burst_beats,
            )
            m.submodules[f"manager_{slot}"] = manager
            for index, name in enumerate(WRITERS):
                wiring.connect(m, getattr(writer, f"{name}_request")[slot], manager.request[index])
                wiring.connect(m, getattr(writer, f"{name}_data")[slot], manager.i[index])
            m.d.comb += manager.stop.eq(self.stop)
            idle.append(manager.idle)
            port.connect(m, self, write=manager)
        m.d.comb += [
            self.idle.eq(Cat(idle).all()),
            self.finished.eq(writer.finished & self.idle),
        ]
        return m
