"""A unit on a board: a bridge to the host, and memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..axi.ports import LitePort, ManagerPort
from ..spec.bridge import MOST_DATA, VERSION, Identity, digest_of
from ..spec.registers.register_map import WORD_BITS, Register
from ..spec.sdram import Sdram
from ..spec.unit import Unit
from .block_memory import BlockMemory
from .bursts import CHANNELS
from .host_bridge import HostBridge
from .sdram_controller import SdramPins
from .sdram_memory import SdramMemory
from .uart import UartReceiver, UartTransmitter

__all__ = ["BoardTop", "Lights", "identity_of"]


def identity_of(unit: Unit, config: Any, memory_bytes: int) -> Identity:
    """What a board with a unit says of itself."""
    return Identity(VERSION, MOST_DATA, memory_bytes, digest_of(unit.name, config.resolved()))


class Lights(wiring.Component):
    """What LEDs show of an accelerator: told from its registers, as a host writes and reads them.

    Parameters
    ----------
    control, status: the accelerator's registers CTRL and STATUS

    Members
    -------
    irq: in; the accelerator's interrupt
    writes, write_address, written: in; a register is written
    reads, read_address, found: in; a register was read
    busy: out; from a start to the interrupt's rising edge, or to a soft reset
    error: out; the last status that was read reports an error, and no job was started since
    """

    def __init__(self, control: Register, status: Register) -> None:
        self._control, self._status = control, status
        ins = {"irq": 1, "writes": 1, "written": WORD_BITS, "reads": 1, "found": WORD_BITS}
        ins |= {"write_address": WORD_BITS, "read_address": WORD_BITS}
        outs = {"busy": Out(1), "error": Out(1)}
        super().__init__({**{name: In(width) for name, width in ins.items()}, **outs})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control, status = self._control, self._status
        controls = self.writes & (self.write_address == control.offset)
        start, soft_reset = (
            controls & self.written[control.field(name).low] for name in ("start", "soft_reset")
        )
        # The interrupt of the job before may still be high behind a start.
        was_high = Signal()
        m.d.sync += was_high.eq(self.irq)
        with m.If(self.irq & ~was_high):
            m.d.sync += self.busy.eq(0)
        with m.If(self.reads & (self.read_address == status.offset)):
            m.d.sync += self.error.eq(self.found[status.field("error").low])
        with m.If(start):
            m.d.sync += [self.busy.eq(1), self.error.eq(0)]
        with m.If(soft_reset):
            m.d.sync += self.busy.eq(0)
        return m


class BoardTop(wiring.Component):
    """An accelerator with a memory that it shares with the host, which reaches both over a serial
    line.

    Parameters
    ----------
    unit: an accelerator of the catalogue
    config: its configuration
    divisor: cycles of a bit on the serial line
    memory_bytes: of the memory on chip, a multiple of 4 KiB; or
    sdram: the chip that is the memory

    Members
    -------
    rx: in; what the host sends
    tx: out; what it gets
    irq: out; the unit's interrupt
    busy: out; a job has been started, and has not raised the interrupt yet
    error: out; the last status that the host read reports an error
    sdram: the chip's pins, if there is one: see :class:`SdramPins`
    """

    def __init__(
        self, unit: Unit, config: Any, *, divisor: int, memory_bytes: int = 0,
        sdram: Sdram | None = None,
    ) -> None:  # fmt: skip
        if (sdram is None) != (memory_bytes != 0):
            raise ValueError("either `memory_bytes` or `sdram` must be given")
        self._unit, self._config, self._divisor = unit, config, divisor
        self._memory_bytes = memory_bytes if sdram is None else sdram.geometry.memory_bytes
        self._sdram = sdram
        pins = {} if sdram is None else {"sdram": Out(SdramPins(sdram.geometry))}
        outs = {name: Out(1) for name in ("tx", "irq", "busy", "error")}
        super().__init__({"rx": In(1, init=1), **outs, **pins})

    @property
    def divisor(self) -> int:
        return self._divisor

    @property
    def identity(self) -> Identity:
        """What the board says of itself."""
        return identity_of(self._unit, self._config, self._memory_bytes)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit.build(self._config)
        lite, *managers = unit.axi_ports  # type: ignore[attr-defined]
        widths = {name: managers[0][name] for name in ("addr_bits", "data_bits", "id_bits")}
        m.submodules.receiver = receiver = UartReceiver(self._divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self._divisor)
        m.submodules.bridge = bridge = HostBridge(
            self.identity, lite_addr_bits=lite["addr_bits"], **widths
        )
        memory = self._memory(m, len(managers) + 1, **widths)
        wiring.connect(m, receiver.o, bridge.rx)
        wiring.connect(m, bridge.tx, transmitter.i)
        m.d.comb += [
            receiver.line.eq(self.rx),
            self.tx.eq(transmitter.line),
            self.irq.eq(unit.irq),  # type: ignore[attr-defined]
            bridge.irq.eq(unit.irq),  # type: ignore[attr-defined]
        ]
        for name in CHANNELS:
            wiring.connect(m, getattr(bridge, name), getattr(memory, name)[0])
        for number, port in enumerate(managers):
            side = {name: getattr(memory, name)[number + 1] for name in CHANNELS}
            ManagerPort(prefix=port["prefix"], **widths).serve(m, unit, side)
        self._lights(m, bridge)
        LitePort(prefix=lite["prefix"], addr_bits=lite["addr_bits"]).drive(
            m, unit, {name: getattr(bridge, f"lite_{name}") for name in CHANNELS}
        )
        return m

    def _lights(self, m: Module, bridge: HostBridge) -> None:
        """What the LEDs show, from the registers that the host writes and reads."""
        registers = self._unit.job_spec(self._config).registers
        m.submodules.lights = lights = Lights(registers["CTRL"], registers["STATUS"])
        w, r = bridge.lite_w, bridge.lite_r
        m.d.comb += [
            lights.irq.eq(self.irq),
            lights.writes.eq(w.valid & w.ready),
            lights.write_address.eq(bridge.lite_aw.payload.address),
            lights.written.eq(w.payload.data),
            lights.reads.eq(r.valid & r.ready),
            lights.read_address.eq(bridge.lite_ar.payload.address),
            lights.found.eq(r.payload.data),
            self.busy.eq(lights.busy),
            self.error.eq(lights.error),
        ]

    def _memory(self, m: Module, managers: int, **widths: int) -> BlockMemory | SdramMemory:
        """The memory, on chip or off."""
        if self._sdram is None:
            m.submodules.memory = block = BlockMemory(managers, self._memory_bytes, **widths)
            return block
        m.submodules.memory = memory = SdramMemory(managers, self._sdram, **widths)
        wiring.connect(m, memory.pins, wiring.flipped(self.sdram))  # type: ignore[attr-defined]
        return memory
