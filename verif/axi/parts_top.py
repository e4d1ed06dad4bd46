"""The parts of ``hw/axi`` in one top, with AXI ports as an accelerator has them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect
from tilewright.hw.axi.layouts import (
    Supervision,
    data_layout,
    request_layout,
    routed_layout,
    store_layout,
)
from tilewright.hw.axi.managers import ReadManager, WriteManager
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.hw.axi.ports import LitePort, ManagerPort
from tilewright.hw.axi.registers import AxiLiteRegisters, field_members
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.verif.native.parts import pass_members

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
    beat_queue: int = 0

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
            beat_queue=sizes.beat_queue,
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


REGISTERS = RegisterMap(
    registers=(
        Register(
            name="ID",
            offset=0x00,
            access="ro",
            fields=(Field(name="value", width=32, reset=0x54574158, constant=True),),
        ),
        Register(
            name="CTRL",
            offset=0x04,
            fields=(
                Field(name="start", access="wo"),
                Field(name="code", low=4, width=12, access="wo"),
                Field(name="enable", low=16, width=2, reset=2),
            ),
        ),
        Register(
            name="STATUS",
            offset=0x0C,
            access="w1c",
            fields=(
                Field(name="busy", access="ro"),
                Field(name="done", low=1),
                Field(name="flags", low=6, width=5),
            ),
        ),
        Register(name="BASE", offset=0x10, bits=64, fields=(Field(name="value", width=40),)),
        Register(
            name="SPAN",
            offset=0x18,
            bits=64,
            fields=(
                Field(name="low", width=20, reset=0x12345),
                Field(name="middle", low=24, width=20, reset=0xABCDE),
                Field(name="count", low=50, width=14, access="ro"),
            ),
        ),
        Register(name="CYCLES", offset=0x28, bits=64, access="ro", fields=(
            Field(name="value", width=64),)),
    )
)  # fmt: skip
"""A register of every kind, with gaps between registers and between fields."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Widths and depths of the top, as in ``ReadManager``; ``members`` readers and writers."""

    members: int = 2
    addr_bits: int = 40
    data_bits: int = 64
    id_bits: int = 2
    outstanding: int = 8
    count_bits: int = 12
    burst_beats: int = 16
    buffer_beats: int = 32


class AxiParts(wiring.Component):
    """Readers and writers at ``m0_axi``, registers at ``s_axil``.

    Parameters
    ----------
    sizes: see :class:`Sizes`

    Members
    -------
    read_request, read_data, write_request, write_data: arrays of streams, as in the managers
    read_stop, read_idle, ..., write_error_address: of the managers
    and the members of ``REGISTERS``
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._axi = ManagerPort(
            prefix="m0_axi",
            addr_bits=sizes.addr_bits,
            data_bits=sizes.data_bits,
            id_bits=sizes.id_bits,
        )
        self._lite = LitePort(addr_bits=REGISTERS.address_bits + 1)
        self.axi_ports = [self._lite.describe(), self._axi.describe()]
        self.register_map = REGISTERS
        request = stream.Signature(request_layout(sizes.addr_bits, sizes.count_bits))
        read = stream.Signature(data_layout(sizes.data_bits))
        write = stream.Signature(store_layout(sizes.data_bits))
        control = {
            f"{side}_{name}": member
            for side in ("read", "write")
            for name, member in Supervision(sizes.addr_bits).members.items()
        }
        super().__init__(
            {
                **self._axi.members(),
                **self._lite.members(),
                "read_request": In(request).array(sizes.members),
                "read_data": Out(read).array(sizes.members),
                "write_request": In(request).array(sizes.members),
                "write_data": In(write).array(sizes.members),
                **control,
                **dict(field_members(REGISTERS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes = self._sizes
        widths = {name: getattr(sizes, name) for name in vars(sizes) if name != "members"}
        m.submodules.reading = reading = ReadManager(sizes.members, **widths)
        m.submodules.writing = writing = WriteManager(sizes.members, **widths)
        m.submodules.registers = registers = AxiLiteRegisters(REGISTERS, self._lite.addr_bits)
        self._axi.connect(m, self, read=reading, write=writing)
        self._lite.connect(m, self, registers)
        for index in range(sizes.members):
            wiring.connect(m, reading.request[index], wiring.flipped(self.read_request[index]))
            wiring.connect(m, reading.o[index], wiring.flipped(self.read_data[index]))
            wiring.connect(m, writing.request[index], wiring.flipped(self.write_request[index]))
            wiring.connect(m, writing.i[index], wiring.flipped(self.write_data[index]))
        for side, manager in (("read", reading), ("write", writing)):
            m.d.comb += manager.stop.eq(getattr(self, f"{side}_stop"))
            for name in ("idle", "error", "error_address"):
                m.d.comb += getattr(self, f"{side}_{name}").eq(getattr(manager, name))
        for name, member in field_members(REGISTERS):
            inner, outer = getattr(registers, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        return m
