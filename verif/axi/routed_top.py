"""Lanes of ordered readers, their multiplexers and the crossbar in one top."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect
from tilewright.hw.axi.layouts import data_layout, routed_layout
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.axi.supervision import Supervision
from tilewright.verif.axi.wrapped import pass_members

_SUPERVISED = ("stop", "idle", "error", "error_address")


@dataclass(frozen=True, kw_only=True)
class RoutedSizes:
    """``readers`` ordered readers in each of the lanes."""

    lanes: int = 1
    channels: int = 1
    readers: int = 1
    addr_bits: int = 40
    data_bits: int = 64
    outstanding: int = 16
    burst_beats: int = 8

    @property
    def channel_bits(self) -> int:
        return max(1, (self.channels - 1).bit_length())

    @property
    def slot_bits(self) -> int:
        return (self.outstanding - 1).bit_length()

    @property
    def lane_id_bits(self) -> int:
        return self.slot_bits + (self.readers - 1).bit_length()

    @property
    def id_bits(self) -> int:
        return self.lane_id_bits + (self.lanes - 1).bit_length()


class RoutedStreams(wiring.Component):
    """Reader ``lane * readers + unit`` has streams ``request`` and ``o`` of that number.

    Members
    -------
    request, o: arrays of streams, as in ``OrderedReader``
    ar, r: of the channels, arrays of streams
    stop: of all readers
    idle, error: a bit for each reader
    error_address: array
    conflicts: of the crossbar
    offered, taken: a bit for each lane: a request is at the crossbar, and moves
    wanted: the channels of these requests
    """

    def __init__(self, sizes: RoutedSizes) -> None:
        self._sizes = sizes
        self._crossbar = ReadCrossbar(
            sizes.lanes,
            sizes.channels,
            addr_bits=sizes.addr_bits,
            data_bits=sizes.data_bits,
            lane_id_bits=sizes.lane_id_bits,
        )
        assert self._crossbar.id_bits == sizes.id_bits
        count = sizes.lanes * sizes.readers
        request = stream.Signature(routed_layout(sizes.addr_bits, sizes.channel_bits))
        bus = self._crossbar.signature.members
        super().__init__(
            {
                "ar": bus["ar"],
                "r": bus["r"],
                "request": In(request).array(count),
                "o": Out(stream.Signature(data_layout(sizes.data_bits))).array(count),
                "stop": In(1),
                "idle": Out(count),
                "error": Out(count),
                "error_address": Out(sizes.addr_bits).array(count),
                "conflicts": Out(range(sizes.lanes + 1)),
                "offered": Out(sizes.lanes),
                "taken": Out(sizes.lanes),
                "wanted": Out(sizes.lanes * sizes.channel_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes = self._sizes
        m.submodules.crossbar = crossbar = self._crossbar
        for channel in range(sizes.channels):
            wiring.connect(m, crossbar.ar[channel], wiring.flipped(self.ar[channel]))
            wiring.connect(m, crossbar.r[channel], wiring.flipped(self.r[channel]))
        readers = [self._lane(m, lane, crossbar) for lane in range(sizes.lanes)]
        flat = [reader for lane in readers for reader in lane]
        lane_ar = list(crossbar.lane_ar)
        m.d.comb += [
            self.idle.eq(Cat(reader.idle for reader in flat)),
            self.error.eq(Cat(reader.error for reader in flat)),
            self.conflicts.eq(crossbar.conflicts),
            self.offered.eq(Cat(ar.valid for ar in lane_ar)),
            self.taken.eq(Cat(ar.valid & ar.ready for ar in lane_ar)),
            self.wanted.eq(Cat(ar.payload.channel for ar in lane_ar)),
        ]
        return m

    def _lane(self, m: Module, lane: int, crossbar: ReadCrossbar) -> list[OrderedReader]:
        sizes = self._sizes
        widths = {
            "addr_bits": sizes.addr_bits,
            "data_bits": sizes.data_bits,
            "channel_bits": sizes.channel_bits,
        }
        readers = []
        for unit in range(sizes.readers):
            index = lane * sizes.readers + unit
            reader = OrderedReader(
                **widths, outstanding=sizes.outstanding, burst_beats=sizes.burst_beats
            )
            m.submodules[f"reader_{index}"] = reader
            wiring.connect(m, reader.request, wiring.flipped(self.request[index]))
            wiring.connect(m, reader.o, wiring.flipped(self.o[index]))
            m.d.comb += [
                reader.stop.eq(self.stop),
                self.error_address[index].eq(reader.error_address),
            ]
            readers.append(reader)
        if sizes.readers == 1:
            wiring.connect(m, readers[0].ar, crossbar.lane_ar[lane])
            wiring.connect(m, readers[0].r, crossbar.lane_r[lane])
            return readers
        mux = ReadInterconnect(sizes.readers, **widths, slot_bits=sizes.slot_bits)
        m.submodules[f"mux_{lane}"] = mux
        for unit, reader in enumerate(readers):
            wiring.connect(m, reader.ar, mux.reader_ar[unit])
            wiring.connect(m, reader.r, mux.reader_r[unit])
        wiring.connect(m, mux.ar, crossbar.lane_ar[lane])
        wiring.connect(m, mux.r, crossbar.lane_r[lane])
        return readers


class RoutedReaders(wiring.Component):
    """:class:`RoutedStreams` whose channels are AXI4 managers, ``m0_axi`` and further."""

    def __init__(self, sizes: RoutedSizes) -> None:
        self._inner = RoutedStreams(sizes)
        self._ports = [
            ManagerPort(
                prefix=f"m{channel}_axi",
                addr_bits=sizes.addr_bits,
                data_bits=sizes.data_bits,
                id_bits=sizes.id_bits,
            )
            for channel in range(sizes.channels)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members: dict[str, wiring.Member] = dict(self._inner.signature.members)
        del members["ar"], members["r"]
        for port in self._ports:
            members |= port.members()
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        for channel, port in enumerate(self._ports):
            port.connect(m, self, read=SimpleNamespace(ar=inner.ar[channel], r=inner.r[channel]))
        pass_members(m, inner, self, [n for n in inner.signature.members if n not in ("ar", "r")])
        return m


class SupervisedReaders(wiring.Component):
    """:class:`RoutedStreams` with the members of ``Supervision`` of all readers together."""

    def __init__(self, sizes: RoutedSizes) -> None:
        self._inner = RoutedStreams(sizes)
        supervision = Supervision(sizes.addr_bits).members
        super().__init__({**self._inner.signature.members, **supervision})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self, [n for n in inner.signature.members if n not in _SUPERVISED])
        m.d.comb += [
            inner.stop.eq(self.stop),
            self.idle.eq(inner.idle.all()),
            self.error.eq(inner.error.any()),
        ]
        for number, address in enumerate(inner.error_address):
            with m.If(inner.error[number]):
                m.d.comb += self.error_address.eq(address)
        return m
