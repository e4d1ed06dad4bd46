"""The row writer of one lane with its burst writers, behind AXI ports as the accelerator has."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.channels.beat_packer import count_bits
from tilewright.hw.channels.c2sr_row_writer import WRITERS, C2srRowWriter, lane_entry_layout
from tilewright.hw.channels.lane_rows import lane_row_layout
from tilewright.verif.channels.writer_settings import WriterSettings

__all__ = ["WriterTop"]


class WriterTop(wiring.Component):
    """A lane's row writer; ``m0_axi`` is the first of the lane's channels, and so on.

    Members are those of :class:`C2srRowWriter`, but that ``finished`` waits for the bus; ``idle``:
    of the burst writers.
    """

    def __init__(self, settings: WriterSettings) -> None:
        self._settings = settings
        geometry, layout, lane_map = settings.geometry, settings.layout, settings.lane_map
        self._ports = [
            ManagerPort(
                prefix=f"m{slot}_axi",
                addr_bits=geometry.addr_bits,
                data_bits=geometry.data_bits,
                id_bits=1,
            )
            for slot in range(lane_map.lane_channels)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members = {name: member for port in self._ports for name, member in port.members().items()}
        outputs = ("finished", "region", "stored_entry", "stored_row", "idle")
        super().__init__(
            {
                **members,
                "i": In(stream.Signature(lane_entry_layout(layout, lane_map))),
                "pairs_base": In(geometry.addr_bits),
                "entries_base": In(geometry.addr_bits),
                "capacity": In(32),
                "lane": In(lane_map.lane_bits),
                **{name: In(1) for name in ("start", "stop")},
                **{name: Out(1) for name in outputs},
                "region_row": Out(lane_row_layout(lane_map, layout.index_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settings, geometry = self._settings, self._settings.geometry
        m.submodules.writer = writer = C2srRowWriter(geometry, settings.layout, settings.lane_map)
        wiring.connect(m, wiring.flipped(self.i), writer.i)
        for name in ("pairs_base", "entries_base", "capacity", "lane", "start", "stop"):
            m.d.comb += getattr(writer, name).eq(getattr(self, name))
        for name in ("region", "stored_entry", "stored_row", "region_row"):
            m.d.comb += getattr(self, name).eq(getattr(writer, name))
        idle = []
        for slot, port in enumerate(self._ports):
            manager = WriteManager(
                len(WRITERS),
                addr_bits=geometry.addr_bits,
                data_bits=geometry.data_bits,
                id_bits=1,
                outstanding=settings.outstanding,
                count_bits=count_bits(geometry),
                burst_beats=geometry.block_beats,
                buffer_beats=2 * geometry.block_beats,
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
