"""An accelerator that only moves beats, and breaks the rule of AXI that a register selects."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from tilewright.hw.axi.ports import LitePort, ManagerPort
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.sim.rtl.accelerator import NativeAccelerator


class Rule(IntEnum):
    """The rule to break."""

    NONE = 0
    AR_DROPPED = 1
    AR_CHANGED = 2
    AW_DROPPED = 3
    AW_CHANGED = 4
    W_DROPPED = 5
    W_CHANGED = 6
    STROBE_CHANGED = 7
    FIXED_BURST = 8
    NARROW_BEATS = 9
    LAST_EARLY = 10
    LAST_MISSING = 11
    VALID_IN_RESET = 12
    REGISTER_DROPPED = 13
    REGISTER_CHANGED = 14
    REPLY_TO_NOTHING = 15
    NO_REPLY = 16
    W_WAITS_FOR_AWREADY = 17
    AW_WAITS_FOR_WREADY = 18


def _value(name: str, offset: int, width: int, access: str = "rw", bits: int = 32) -> Register:
    field = Field(name="value", width=width)
    return Register(name=name, offset=offset, access=access, bits=bits, fields=(field,))


REGISTERS = RegisterMap(
    registers=(
        Register(name="CTRL", offset=0x00, access="wo", fields=(
            Field(name="read"), Field(name="write", low=1))),
        Register(name="STATUS", offset=0x04, access="w1c", fields=(Field(name="done"),)),
        _value("RULE", 0x08, 5),
        _value("BURSTS", 0x0C, 16),
        _value("BEATS", 0x10, 9),
        _value("ADDRESS", 0x18, 64, bits=64),
        _value("SUM", 0x20, 64, "ro", bits=64),
        _value("ERRORS", 0x28, 32, "ro"),
        _value("INTERLEAVED", 0x2C, 32, "ro"),
        _value("OVERTAKEN", 0x30, 32, "ro"),
    )
)  # fmt: skip


_ADDRESS = ("valid", "ready", "addr", "len", "id", "size", "burst", "cache")


class AxiMover(wiring.Component):
    """Reads BURSTS bursts of BEATS beats from ADDRESS on, or writes the numbers 0, 1, ... there, or
    both at the same time; burst n has ID n.

    Parameters
    ----------
    addr_bits, data_bits, id_bits: of the manager

    Members
    -------
    s_axil_*: ``REGISTERS``. SUM is that of the lowest 32 bits of all beats read, ERRORS counts
        responses, INTERLEAVED beats that follow one of an unfinished burst with another ID,
        OVERTAKEN last beats that follow one of a higher ID
    m0_axi_*: the manager
    irq: while STATUS.done
    """

    def __init__(self, *, addr_bits: int = 40, data_bits: int = 64, id_bits: int = 4) -> None:
        self._axi = ManagerPort(
            prefix="m0_axi", addr_bits=addr_bits, data_bits=data_bits, id_bits=id_bits
        )
        self._lite = LitePort(addr_bits=REGISTERS.address_bits + 1)
        self.axi_ports = [self._lite.describe(), self._axi.describe()]
        self.register_map = REGISTERS
        super().__init__({**self._axi.members(), **self._lite.members(), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = AxiLiteRegisters(REGISTERS, self._lite.addr_bits)
        self._lite.connect(m, self, registers)
        rule = Signal(Rule)
        self._data_left = Signal(16, name="w_left")
        # Not reset itself.
        valid_in_reset = Signal(reset_less=True)
        # The bursts whose addresses, and whose responses, are to come.
        left = {name: Signal(16, name=f"{name}_left") for name in ("ar", "aw", "r", "b")}
        starts = {"ar": registers.ctrl_read, "aw": registers.ctrl_write}
        with m.If(registers.ctrl_read | registers.ctrl_write):
            m.d.sync += [
                rule.eq(registers.rule),
                valid_in_reset.eq(registers.rule == Rule.VALID_IN_RESET),
            ]
        for name, reply in (("ar", "r"), ("aw", "b")):
            self._addresses(m, registers, name, left[name], rule)
            with m.If(starts[name]):
                m.d.sync += [
                    left[name].eq(registers.bursts),
                    left[reply].eq(registers.bursts),
                ]
        with m.If(valid_in_reset & ResetSignal()):
            m.d.comb += self.m0_axi_arvalid.eq(1)
        self._write(m, registers, rule, left["aw"])
        self._replies(m, registers, left["r"], left["b"])
        self._registers(m, rule)
        busy = Cat(left.values()).any()
        was_busy = Signal()
        m.d.sync += was_busy.eq(busy)
        m.d.comb += [
            registers.status_done_set.eq(was_busy & ~busy),
            self.irq.eq(registers.status_done),
        ]
        return m

    def _waits(self, m: Module, channel: str) -> Value:
        """Returns whether valid waited for ready in the last cycle."""
        waits = Signal(name=f"{channel}_waits")
        port = f"m0_axi_{channel}"
        m.d.sync += waits.eq(getattr(self, f"{port}valid") & ~getattr(self, f"{port}ready"))
        return waits

    def _waits_for_data(self, rule: Value, name: str, left: Value) -> Value:
        """Returns whether an address waits until its data are accepted, which AXI forbids."""
        waits = (rule == Rule.AW_WAITS_FOR_WREADY) & (name == "aw")
        return waits & (self._data_left >= left)

    def _addresses(
        self, m: Module, registers: AxiLiteRegisters, name: str, left: Signal, rule: Value
    ) -> None:
        """AR or AW."""
        port = {n: getattr(self, f"m0_axi_{name}{n}") for n in _ADDRESS}
        width = self._axi.data_bits // 8
        size = width.bit_length() - 1
        address = Signal(self._axi.addr_bits, name=f"{name}_address")
        number = Signal(self._axi.id_bits, name=f"{name}_number")
        dropped = (rule == Rule[f"{name.upper()}_DROPPED"]) & self._waits(m, name)
        changed = (rule == Rule[f"{name.upper()}_CHANGED"]) & self._waits(m, name)
        m.d.comb += [
            port["valid"].eq(left.any() & ~dropped & ~self._waits_for_data(rule, name, left)),
            port["addr"].eq(Mux(changed, address + width, address)),
            port["len"].eq(registers.beats - 1),
            port["id"].eq(number),
            port["size"].eq(Mux(rule == Rule.NARROW_BEATS, size - 1, size)),
            port["burst"].eq(rule != Rule.FIXED_BURST),
            port["cache"].eq(self._axi.describe()["cache"]),
        ]
        with m.If(port["valid"] & port["ready"]):
            m.d.sync += [
                left.eq(left - 1),
                number.eq(number + 1),
                address.eq(address + registers.beats * width),
            ]
        with m.If(registers.ctrl_read if name == "ar" else registers.ctrl_write):
            m.d.sync += [address.eq(registers.address), number.eq(0)]

    def _write(
        self, m: Module, registers: AxiLiteRegisters, rule: Value, addresses_left: Value
    ) -> None:
        """W, from its burst's AWVALID on, whether that was taken or not."""
        waits = self._waits(m, "w")
        number = Signal(32)
        left = self._data_left
        held = (rule == Rule.W_WAITS_FOR_AWREADY) & (addresses_left >= left)
        beat = Signal(9)
        last = Signal()
        # The addresses to come are one more than those whose AWVALID is to come.
        led = left + self.m0_axi_awvalid > addresses_left
        may_send = left.any() & (led | (rule == Rule.AW_WAITS_FOR_WREADY))
        whole = (1 << self._axi.data_bits // 8) - 1
        early = (rule == Rule.LAST_EARLY) & (beat == registers.beats - 2)
        m.d.comb += [
            last.eq(beat == registers.beats - 1),
            self.m0_axi_wvalid.eq(may_send & ~((rule == Rule.W_DROPPED) & waits) & ~held),
            self.m0_axi_wdata.eq(number + ((rule == Rule.W_CHANGED) & waits)),
            self.m0_axi_wstrb.eq(whole ^ ((rule == Rule.STROBE_CHANGED) & waits)),
            self.m0_axi_wlast.eq((last | early) & (rule != Rule.LAST_MISSING)),
        ]
        with m.If(self.m0_axi_wvalid & self.m0_axi_wready):
            m.d.sync += [number.eq(number + 1), beat.eq(Mux(last, 0, beat + 1))]
            m.d.sync += left.eq(left - last)
        with m.If(registers.ctrl_write):
            m.d.sync += [left.eq(registers.bursts), number.eq(0), beat.eq(0)]

    def _replies(
        self, m: Module, registers: AxiLiteRegisters, r_left: Signal, b_left: Signal
    ) -> None:
        """R and B, and what is counted there."""
        total = Signal(64)
        errors = Signal(32)
        interleaved = Signal(32)
        overtaken = Signal(32)
        open_burst = Signal()
        number = Signal(self._axi.id_bits)
        finished = Signal(self._axi.id_bits)
        r_moves = Signal()
        b_moves = Signal()
        m.d.comb += [
            self.m0_axi_rready.eq(1),
            self.m0_axi_bready.eq(1),
            r_moves.eq(self.m0_axi_rvalid),
            b_moves.eq(self.m0_axi_bvalid),
            registers.sum.eq(total),
            registers.errors.eq(errors),
            registers.interleaved.eq(interleaved),
            registers.overtaken.eq(overtaken),
        ]
        wrong = Signal(2)
        r_wrong, b_wrong = self.m0_axi_rresp.any(), self.m0_axi_bresp.any()
        m.d.comb += wrong.eq((r_moves & r_wrong) + (b_moves & b_wrong))
        m.d.sync += errors.eq(errors + wrong)
        with m.If(r_moves):
            m.d.sync += [
                total.eq(total + self.m0_axi_rdata[:32]),
                open_burst.eq(~self.m0_axi_rlast),
                number.eq(self.m0_axi_rid),
                interleaved.eq(interleaved + (open_burst & (number != self.m0_axi_rid))),
            ]
        with m.If(r_moves & self.m0_axi_rlast):
            m.d.sync += [
                r_left.eq(r_left - 1),
                finished.eq(self.m0_axi_rid),
                overtaken.eq(overtaken + (self.m0_axi_rid < finished)),
            ]
        with m.If(b_moves):
            m.d.sync += b_left.eq(b_left - 1)
        with m.If(registers.ctrl_read | registers.ctrl_write):
            m.d.sync += [
                total.eq(0),
                errors.eq(0),
                interleaved.eq(0),
                overtaken.eq(0),
                open_burst.eq(0),
                finished.eq(0),
            ]

    def _registers(self, m: Module, rule: Value) -> None:
        """Breaks the rules of the register bus."""
        waits = Signal()
        m.d.sync += waits.eq(self.s_axil_rvalid & ~self.s_axil_rready)
        with m.If((rule == Rule.REGISTER_DROPPED) & waits):
            m.d.comb += self.s_axil_rvalid.eq(0)
        with m.If((rule == Rule.REGISTER_CHANGED) & waits):
            m.d.comb += self.s_axil_rdata.eq(0xABCD)
        with m.If(rule == Rule.REPLY_TO_NOTHING):
            m.d.comb += self.s_axil_bvalid.eq(1)
        with m.If(rule == Rule.NO_REPLY):
            m.d.comb += self.s_axil_rvalid.eq(0)


MEMORY_BYTES = 1 << 16
READ, WRITE = 1, 2


@cache
def mover(addr_bits: int = 40, data_bits: int = 64, id_bits: int = 4) -> Emitted:
    """The mover with such a bus."""
    component = AxiMover(addr_bits=addr_bits, data_bits=data_bits, id_bits=id_bits)
    return emit_component(component, name="mover")


def write(device: NativeAccelerator[Any], name: str, value: int) -> None:
    """Write a register."""
    register = REGISTERS[name]
    for word in range(register.words):
        device.write_register(register.offset + 4 * word, value >> 32 * word & 0xFFFF_FFFF)


def read(device: NativeAccelerator[Any], name: str) -> int:
    """Returns the value of a register."""
    register = REGISTERS[name]
    words = (device.read_register(register.offset + 4 * n) for n in range(register.words))
    return sum(word << 32 * n for n, word in enumerate(words))


def start(
    device: NativeAccelerator[Any],
    control: int,
    *,
    bursts: int = 8,
    beats: int = 8,
    address: int = 0,
    rule: Rule = Rule.NONE,
) -> None:
    """Have the mover read, write, or both, perhaps with a rule broken."""
    values = {"BURSTS": bursts, "BEATS": beats, "ADDRESS": address, "RULE": rule}
    for name, value in values.items():
        write(device, name, value)
    write(device, "CTRL", control)


def move(device: NativeAccelerator[Any], control: int, **what: Any) -> int:
    """Move beats; returns the cycles from the start to the interrupt."""
    start(device, control, **what)
    begun = device.cycles
    device.wait(100_000)
    taken = device.cycles - begun
    write(device, "STATUS", 1)
    assert not device.irq()
    return taken


def sum_of(device: NativeAccelerator[None], beats: int, address: int = 0) -> int:
    """Returns the expected sum of beats in memory."""
    words = np.frombuffer(device.read_memory(address, beats * 8), np.uint64)
    return int((words & np.uint64(0xFFFF_FFFF)).sum())
