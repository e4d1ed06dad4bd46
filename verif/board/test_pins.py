"""Whole boards: the top of a bitstream through its pins, and the files of its build."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tilewright.hw.board.boards import BOARDS
from tilewright.hw.board.clocks import PLLS, fastest_clock
from tilewright.sim.device.wire import WireDevice
from tilewright.sim.rtl.serial_board import Pins, SerialBoard
from tilewright.synth.bitstream import Target
from tilewright.verif.board.boards import DIVISOR, TOY, emitted
from tilewright.verif.catalogue.toy.exercise import exercise
from tilewright.verif.catalogue.toy.spec import TOY_ADDER
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import rng_of


def target(name: str) -> Target:
    """The toy adder on a board, with 4 cycles a bit whatever its clock."""
    return Target(
        board=BOARDS[name], unit="toy_adder", config=TOY.resolved(), module="board",
        emit=lambda divisor: emitted(TOY_ADDER, TOY).verilog, kib=64, baud=1_000_000,
    )  # fmt: skip


@cache
def files(name: str) -> dict[str, str]:
    one = target(name)
    return one.files(one.clock(48.0), simulated=True)


@pytest.mark.parametrize("name", ["ulx3s-85f", "ice40-hx8k", "arty-a7-35"])
def test_jobs_through_the_pins(name: str) -> None:
    """Clock, reset, buffers and serial line of each family."""
    pins = Pins.of(files(name)["top.debug.v"], files(name)["board.sv"])
    with WireDevice(TOY_ADDER, TOY, SerialBoard(pins, divisor=DIVISOR)) as device:
        assert exercise(device, rng_of(1)) == 3


@pytest.mark.parametrize("name", BOARDS)
def test_files_of_a_build(name: str) -> None:
    """Every pin has a place, the oscillator is the board's; no path of this machine is told."""
    found, board = files(name), BOARDS[name]
    heading = re.search(r"^module top\((.*?)\);", found["top.debug.v"], re.MULTILINE)
    assert heading
    places = "".join(found.get(f"top.{kind}", "") for kind in ("lpf", "pcf", "xdc"))
    for pin in heading[1].split(", "):
        forms = (
            rf'COMP "{pin}" SITE "\w+"',
            rf"set_io {pin} \w+",
            rf'LOC \w+ \[get_ports "{pin}"\]',
        )
        assert any(re.search(form, places) for form in forms), pin
    assert len(heading[1].split(", ")) == 3 + len(board.lights)
    clock = re.search(r"(?:PORT \S+ |set_frequency \S+ |-period )([\d.]+)", places)
    assert clock
    mhz = {"ecp5": 1e-6, "ice40": 1.0, "xilinx7": None}[board.device.family]
    found_mhz = 1000 / float(clock[1]) if mhz is None else float(clock[1]) * mhz
    assert found_mhz == pytest.approx(board.mhz)
    text = "".join(text for file, text in found.items() if file != "board.sv")
    assert "/hw/board/" not in text


def test_a_top_without_pins() -> None:
    assert refusal(lambda: Pins.of("", "")) == "there is no module `top`"


@pytest.mark.parametrize("family", PLLS)
@pytest.mark.parametrize("reference", [12.0, 25.0, 48.0, 100.0])
def test_clocks(family: str, reference: float) -> None:
    """They are in the device's limits, at most as fast as asked, and serve the serial line."""
    if family == "xilinx7" and reference < 19:
        return
    for most in (20.0, 33.3, 48.0, 66.7, 100.0):
        pll = fastest_clock(family, reference, most, baud=1_000_000)
        assert pll.is_allowed
        assert most * 0.85 < pll.mhz <= most
        assert pll.mhz == pytest.approx(reference * pll.multiply / pll.divide / pll.output)
        assert abs(round(pll.mhz) / pll.mhz - 1) <= 0.01
    said = refusal(lambda: fastest_clock(family, reference, 0.5))
    assert said == f"no clock of 0.5 MHz or less is made from {reference:g} MHz"
