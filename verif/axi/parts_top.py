"""The parts of ``hw/axi`` in one top, with AXI ports as an accelerator has them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.layouts import data_layout, request_layout, store_layout
from tilewright.hw.axi.managers import ReadManager, WriteManager
from tilewright.hw.axi.ports import LitePort, ManagerPort
from tilewright.hw.axi.registers import AxiLiteRegisters, field_members
from tilewright.hw.axi.supervision import Supervision
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap

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
