"""The top of a bitstream: a board's pins and clock around an accelerator with bridge and memory."""

from __future__ import annotations

from typing import Any

from amaranth.build import Subsignal
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Elaboratable,
    Instance,
    Module,
    ResetSignal,
    Signal,
)
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer

from ..spec.sdram import Sdram
from .boards import Board
from .clocks import Pll
from .sdram_controller import SdramPins

__all__ = ["PlatformTop"]

_PARTS = {"cke": "clk_en", "cs_n": "cs", "ras_n": "ras", "cas_n": "cas", "we_n": "we"}
"""Pins of an SDRAM that ``amaranth-boards`` names otherwise."""

_RESET_MICROSECONDS = 20
"""Block RAMs of iCE40 cannot be read in the first microseconds behind configuration."""


class PlatformTop(Elaboratable):
    """Connects the module of a :class:`BoardTop` with the pins of a board.

    The clock comes from the oscillator through a phase-locked loop. Reset is released 20
    microseconds after that is stable.

    Parameters
    ----------
    board: which one
    module: name of the Verilog module of the accelerator with bridge and memory
    pll: setting of the phase-locked loop
    sdram: the chip whose pins the module has, with ``pin_registers``; None: its memory is on chip
    """

    def __init__(self, board: Board, module: str, pll: Pll, sdram: Sdram | None = None) -> None:
        if sdram is not None and not sdram.pin_registers:
            raise ValueError("`sdram` must have `pin_registers`")
        self._board, self._module, self._pll, self._sdram = board, module, pll, sdram

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        self._clock(m, platform)
        serial = _ports(platform, "uart", 0)
        m.submodules.rx_pin = rx = io.Buffer("i", serial.rx)
        m.submodules.tx_pin = tx = io.Buffer("o", serial.tx)
        lights = [Signal(name=name) for name in ("busy", "error", "irq")]
        m.submodules.board = Instance(
            self._module,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_rx=rx.i,
            o_tx=tx.o,
            **{f"o_{light.name}": light for light in lights},
            **self._memory(m, platform),
        )
        places = dict.fromkeys((name, number) for name, number, _ in self._board.lights)
        ports = {place: _ports(platform, *place) for place in places}
        for light, (name, number, colour) in zip(lights, self._board.lights, strict=False):
            port = ports[name, number]
            pin = io.Buffer("o", getattr(port, colour) if colour else port)
            m.submodules[f"{light.name}_pin"] = pin
            m.d.comb += pin.o.eq(light)
        return m

    def _clock(self, m: Module, platform: Any) -> None:
        """The clock of the domain ``sync``, and its reset."""
        m.submodules.clock_pin = pin = io.Buffer(
            "i", platform.request(platform.default_clk, dir="-")
        )
        clock, locked, stable = Signal(), Signal(), Signal()
        second: dict[str, Any] = {}
        if self._sdram is not None:
            m.domains.sdram = ClockDomain("sdram", reset_less=True)
            second = self._pll.lagging(ClockSignal("sdram"), self._sdram.clock_phase)
        m.submodules.pll = self._pll.instance(pin.i, clock, locked, **second)
        m.d.comb += ClockSignal().eq(clock)
        m.submodules.locked = FFSynchronizer(locked, stable, reset_less=True)
        cycles = int(_RESET_MICROSECONDS * self._pll.mhz)
        waited = Signal(range(cycles + 1), reset_less=True)
        resets = Signal(init=1, reset_less=True)
        m.d.comb += ResetSignal().eq(resets)
        m.d.sync += resets.eq(waited != cycles)
        with m.If(~stable):
            m.d.sync += waited.eq(0)
        with m.Elif(waited != cycles):
            m.d.sync += waited.eq(waited + 1)

    def _memory(self, m: Module, platform: Any) -> dict[str, Signal]:
        """The pins of an SDRAM, each with a register both ways, and its clock. Returns the ports
        of the module.

        Until the first cycle of the clock these registers are zero: the chip ignores its inputs,
        because its clock is not enabled.
        """
        if self._sdram is None:
            return {}
        ports = _ports(platform, "sdram", 0)
        m.submodules.sdram_clk_pin = clock = io.DDRBuffer("o", ports.clk, o_domain="sdram")
        m.d.comb += [clock.o[0].eq(1), clock.o[1].eq(0)]
        signature, found = SdramPins(self._sdram.geometry), {}
        for name, member in signature.members.items():
            if name.startswith("dq_"):
                continue
            signal = Signal(member.shape, name=f"sdram_{name}")
            part, low = _PARTS.get(name, name), name.endswith("_n")
            pin = io.FFBuffer("o", getattr(ports, part))
            m.submodules[f"sdram_{part}_pin"] = pin
            # The pin inverts what is low when active.
            m.d.comb += pin.o.eq(~signal if low else signal)
            found[f"o_sdram__{name}"] = signal
        m.submodules.sdram_dq_pin = data = io.FFBuffer("io", ports.dq)
        found |= {"o_sdram__dq_o": data.o, "o_sdram__dq_oe": data.oe, "i_sdram__dq_i": data.i}
        return found


def _ports(platform: Any, name: str, number: int) -> Any:
    """The ports of a resource, without buffers: those that are not used have no pin."""
    parts = [part.name for part in platform.lookup(name, number).ios if isinstance(part, Subsignal)]
    return platform.request(name, number, dir=dict.fromkeys(parts, "-") if parts else "-")
