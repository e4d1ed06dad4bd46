"""Boards of ``amaranth-boards`` that an accelerator is built for, and their pins."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..spec.sdram import SdramGeometry

__all__ = ["BOARDS", "Board", "Device"]


@dataclass(frozen=True, kw_only=True)
class Device:
    """A field-programmable gate array, and what it has.

    Parameters
    ----------
    name: of its manufacturer
    family: ``ecp5``, ``ice40`` or ``xilinx7``
    luts: look-up tables, of four inputs but for ``xilinx7``, which has six
    dsps: multipliers: 18 x 18, on ``ice40`` 16 x 16, on ``xilinx7`` 25 x 18
    block_rams: memories on chip
    block_ram_bits: size of one
    """

    name: str
    family: str
    luts: int
    dsps: int
    block_rams: int
    block_ram_bits: int

    @property
    def memory_kib(self) -> int:
        """All memories on chip together."""
        return self.block_rams * self.block_ram_bits >> 13


def _ecp5(name: str, luts: int, dsps: int, block_rams: int) -> Device:
    sizes = {"dsps": dsps, "block_rams": block_rams, "block_ram_bits": 18432}
    return Device(name=name, family="ecp5", luts=luts, **sizes)


# LFE5U-12F is the die of LFE5U-25F, and the open tools use all of it.
_12F = _ecp5("LFE5U-12F", 24288, 28, 56)
_25F = _ecp5("LFE5U-25F", 24288, 28, 56)
_45F = _ecp5("LFE5U-45F", 43848, 72, 108)
_85F = _ecp5("LFE5U-85F", 83640, 156, 208)
_45F_5G = _ecp5("LFE5UM5G-45F", 43848, 72, 108)
_85F_5G = _ecp5("LFE5UM5G-85F", 83640, 156, 208)
_HX8K = Device(
    name="iCE40HX8K", family="ice40", luts=7680, dsps=0, block_rams=32, block_ram_bits=4096
)
_UP5K = Device(
    name="iCE40UP5K", family="ice40", luts=5280, dsps=8, block_rams=30, block_ram_bits=4096
)
_35T = Device(
    name="XC7A35T", family="xilinx7", luts=20800, dsps=90, block_rams=50, block_ram_bits=36864
)


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board, its device and how it is connected.

    Parameters
    ----------
    name: as the command line takes it
    device: what is on it
    platform: module and class in ``amaranth_boards``
    mhz: its oscillator
    lights: resources of the LEDs for *busy*, *error* and *interrupt*: name, number, colour
    host: how a host reaches it
    uart: pins for ``rx`` and ``tx`` of an adapter, where the board has no serial line: those of a
        connector
    programmer: name of the board or cable for openFPGALoader
    sdram: the chip that is its resource ``sdram`` 0, if it has one
    """

    name: str
    device: Device
    platform: str
    mhz: float
    lights: tuple[tuple[str, int, str], ...]
    host: str
    programmer: str
    uart: tuple[str, str] | None = None
    sdram: SdramGeometry | None = None

    def make_platform(self) -> Any:
        """The platform of ``amaranth_boards``, with a serial line."""
        module, name = self.platform.split(":")
        platform = getattr(import_module(f"amaranth_boards.{module}"), name)()
        if self.uart is not None:
            from amaranth.build import Attrs, Pins, Resource, Subsignal

            rx, tx = self.uart
            signals = Subsignal("rx", Pins(rx, dir="i")), Subsignal("tx", Pins(tx, dir="o"))
            platform.add_resources([Resource("uart", 0, *signals, Attrs(IO_TYPE="LVCMOS33"))])
        return platform


_LEDS = (("led", 0, ""), ("led", 1, ""), ("led", 2, ""))
_COLOURS = (("rgb_led", 0, "b"), ("rgb_led", 0, "r"), ("rgb_led", 0, "g"))


def _ulx3s(size: str, device: Device) -> Board:
    return Board(
        name=f"ulx3s-{size}", device=device, platform=f"ulx3s:ULX3S_{size.upper()}_Platform",
        mhz=25.0, lights=_LEDS, host="USB (US1): FT231X on the board", programmer="ulx3s",
        sdram=SdramGeometry(),
    )  # fmt: skip


def _orangecrab(size: str, device: Device) -> Board:
    return Board(
        name=f"orangecrab-{size}",
        device=device,
        platform=f"orangecrab_r0_2:OrangeCrabR0_2_{size.upper()}Platform",
        mhz=48.0,
        lights=_COLOURS,
        host="an adapter of 3.3 V from USB to UART: its TX on pin 0, its RX on pin 1",
        programmer="orangeCrab",
        uart=("N17", "M18"),
    )


def _ecpix5(size: str, device: Device) -> Board:
    return Board(
        name=f"ecpix5-{size}", device=device, platform=f"ecpix5:ECPIX5{size[:2]}Platform",
        mhz=100.0, lights=_COLOURS, host="USB (debug): FT2232H on the board",
        programmer="ecpix5",
    )  # fmt: skip


BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        _ulx3s("12f", _12F),
        _ulx3s("25f", _25F),
        _ulx3s("45f", _45F),
        _ulx3s("85f", _85F),
        _orangecrab("25f", _25F),
        _orangecrab("85f", _85F),
        _ecpix5("45f", _45F_5G),
        _ecpix5("85f", _85F_5G),
        Board(
            name="icebreaker",
            device=_UP5K,
            platform="icebreaker:ICEBreakerPlatform",
            mhz=12.0,
            lights=(("led", 0, ""), ("led", 1, "")),
            host="USB: FT2232H on the board",
            programmer="ice40_generic",
        ),
        Board(
            name="ice40-hx8k",
            device=_HX8K,
            platform="ice40_hx8k_b_evn:ICE40HX8KBEVNPlatform",
            mhz=12.0,
            lights=_LEDS,
            host="USB: FT2232H on the board",
            programmer="ice40_generic",
        ),
        Board(
            name="arty-a7-35",
            device=_35T,
            platform="arty_a7:ArtyA7_35Platform",
            mhz=100.0,
            lights=_LEDS,
            host="USB (J10): FT2232H on the board",
            programmer="arty_a7_35t",
        ),
    )
}
"""The boards by name."""
