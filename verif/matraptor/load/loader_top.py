"""The loaders of MatRaptor's lanes, with their crossbar, in one top."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect
from tilewright.hw.axi.layouts import address_layout
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.matraptor.layouts import job_layout, left_layout, product_layout, row_layout
from tilewright.hw.matraptor.load.a_loader import SparseALoader
from tilewright.hw.matraptor.load.b_loader import SparseBLoader
from tilewright.hw.spec.matraptor import MatRaptorConfig

__all__ = ["UNITS", "Loaders"]

UNITS = (("a", "pairs"), ("a", "entries"), ("b", "pairs"), ("b", "entries"))


class Loaders(wiring.Component):
    """The loaders of all lanes; what A's sends is not connected to B's.

    Parameters
    ----------
    config: see ``MatRaptorConfig``
    direct: of one lane; each of its four readers has a port of its own, without a crossbar

    Members
    -------
    left, i, product: arrays of streams, by lane
    start: of the A loaders
    job, stop: of all
    rows_in_lane: array
    idle, error, index_error: a bit for each loader, A's of a lane below B's; B's of each lane
    error_address: of each loader; index_row: of each lane
    beats: a bit for each reader of each lane, in the order of ``UNITS``: a beat has come
    """

    def __init__(self, config: MatRaptorConfig, *, direct: bool = False) -> None:
        self._config, self._direct = config, direct
        self._channel_bits = max(1, (config.channels - 1).bit_length())
        count = len(UNITS) if direct else config.channels
        self._ports = [
            ManagerPort(
                prefix=f"m{index}_axi",
                addr_bits=config.addr_bits,
                data_bits=config.data_bits,
                id_bits=config.slot_bits if direct else config.id_bits,
            )
            for index in range(count)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members: dict[str, wiring.Member] = {}
        for port in self._ports:
            members |= port.members()
        lanes = config.lanes
        super().__init__(
            {
                **members,
                "left": Out(stream.Signature(left_layout(config))).array(lanes),
                "i": In(stream.Signature(left_layout(config))).array(lanes),
                "product": Out(stream.Signature(product_layout(config))).array(lanes),
                "start": In(1),
                "stop": In(1),
                "job": In(job_layout(config)),
                "rows_in_lane": In(32).array(lanes),
                "idle": Out(2 * lanes),
                "error": Out(2 * lanes),
                "error_address": Out(config.addr_bits).array(2 * lanes),
                "index_error": Out(lanes),
                "index_row": Out(row_layout(config)).array(lanes),
                "beats": Out(len(UNITS) * lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lanes = [self._lane(m, lane) for lane in range(config.lanes)]
        parts = [part for lane in lanes for part in lane]
        m.d.comb += [
            self.idle.eq(Cat(part.idle for part in parts)),
            self.error.eq(Cat(part.error for part in parts)),
            self.index_error.eq(Cat(b.index_error for _, b in lanes)),
            self.beats.eq(
                Cat(
                    getattr(lane["ab".index(x)], f"read_beats_{what}")
                    for lane in lanes
                    for x, what in UNITS
                )
            ),
        ]
        for part, address in zip(parts, self.error_address, strict=True):
            m.d.comb += address.eq(part.error_address)
        if self._direct:
            for (x, what), port in zip(UNITS, self._ports, strict=True):
                loader = lanes[0]["ab".index(x)]
                read = SimpleNamespace(
                    ar=getattr(loader, f"{what}_ar"), r=getattr(loader, f"{what}_r")
                )
                self._connect(m, port, read)
        else:
            self._cross(m, lanes)
        return m

    def _connect(self, m: Module, port: ManagerPort, read: Any) -> None:
        """A routed reader at a port: its channel is not asked for."""
        layout = address_layout(port.addr_bits, port.id_bits)
        ar = stream.Signature(layout).create(path=(f"{port.prefix}_ar",))
        m.d.comb += [ar.valid.eq(read.ar.valid), read.ar.ready.eq(ar.ready)]
        for name in ("address", "length", "id"):
            m.d.comb += ar.payload[name].eq(read.ar.payload[name])
        port.connect(m, self, read=SimpleNamespace(ar=ar, r=read.r))

    def _lane(self, m: Module, lane: int) -> tuple[SparseALoader, SparseBLoader]:
        a, b = SparseALoader(self._config), SparseBLoader(self._config)
        m.submodules[f"a_{lane}"], m.submodules[f"b_{lane}"] = a, b
        wiring.connect(m, a.o, wiring.flipped(self.left[lane]))
        wiring.connect(m, b.i, wiring.flipped(self.i[lane]))
        wiring.connect(m, b.o, wiring.flipped(self.product[lane]))
        m.d.comb += [
            a.lane.eq(lane),
            a.rows_in_lane.eq(self.rows_in_lane[lane]),
            a.start.eq(self.start),
            self.index_row[lane].eq(b.index_row),
        ]
        for part in (a, b):
            m.d.comb += [part.job.eq(self.job), part.stop.eq(self.stop)]
        return a, b

    def _cross(self, m: Module, lanes: list[tuple[SparseALoader, SparseBLoader]]) -> None:
        config = self._config
        widths = {"addr_bits": config.addr_bits, "data_bits": config.data_bits}
        m.submodules.crossbar = crossbar = ReadCrossbar(
            config.lanes, config.channels, **widths, lane_id_bits=config.lane_id_bits
        )
        for index, lane in enumerate(lanes):
            mux = ReadInterconnect(
                len(UNITS), **widths, channel_bits=self._channel_bits, slot_bits=config.slot_bits
            )
            m.submodules[f"mux_{index}"] = mux
            for unit, (x, what) in enumerate(UNITS):
                loader = lane["ab".index(x)]
                wiring.connect(m, getattr(loader, f"{what}_ar"), mux.reader_ar[unit])
                wiring.connect(m, getattr(loader, f"{what}_r"), mux.reader_r[unit])
            wiring.connect(m, mux.ar, crossbar.lane_ar[index])
            wiring.connect(m, mux.r, crossbar.lane_r[index])
        for ar, r, port in zip(crossbar.ar, crossbar.r, self._ports, strict=True):
            port.connect(m, self, read=SimpleNamespace(ar=ar, r=r))
