"""Whole boards: the top of a bitstream through its pins, and the files of its build."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Signal
from scipy.io import mmwrite
from scipy.sparse import random as sparse_random
from tilewright.hw.board.board_top import BoardTop
from tilewright.hw.board.boards import BOARDS
from tilewright.hw.board.clocks import PLLS, fastest_clock
from tilewright.hw.board.platform_top import PlatformTop
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.sdram import Sdram
from tilewright.registry import entries
from tilewright.sim.device.wire import WireDevice
from tilewright.sim.rtl.sdram_chip import PARTS, SdramError
from tilewright.sim.rtl.serial_board import Pins, SerialBoard
from tilewright.synth.bitstream import Target
from tilewright.verif.board.boards import DIVISOR, TOY, Noise, behind_a_terminal, emitted
from tilewright.verif.catalogue.toy.exercise import exercise
from tilewright.verif.catalogue.toy.spec import TOY_ADDER
from tilewright.verif.kit.commands import Run, refusal
from tilewright.verif.kit.sampling import rng_of


def target(name: str) -> Target:
    """The toy adder on a board, with 4 cycles a bit whatever its clock."""
    return Target(
        board=BOARDS[name], unit="toy_adder", config=TOY.resolved(), module="board",
        emit=lambda divisor, chip: emitted(TOY_ADDER, TOY).verilog, kib=64, baud=1_000_000,
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


WIDE = replace(TOY, addr_bits=32)
PART = PARTS["AS4C16M16SA-7"]


@cache
def files_with_sdram(mhz: float, **chip: Any) -> dict[str, str]:
    """A ULX3S with an SDRAM as its memory, and a chip that is different for the controller."""

    def emit(divisor: int, sdram: Sdram | None) -> str:
        assert sdram is not None
        top = BoardTop(TOY_ADDER, WIDE, sdram=replace(sdram, **chip), divisor=DIVISOR)
        return emit_component(top, name="board").verilog

    one = replace(target("ulx3s-85f"), emit=emit, sdram=True)
    return one.files(one.clock(mhz), simulated=True)


def jobs_with_sdram(top: str, board: str) -> int:
    """Runs jobs through the pins, with the model of a chip at those of the SDRAM."""
    pins = Pins.of(top, board, PART)
    with WireDevice(TOY_ADDER, WIDE, SerialBoard(pins, divisor=DIVISOR)) as device:
        return exercise(device, rng_of(1))


def test_jobs_with_sdram_through_the_pins() -> None:
    """The registers at the pins, the chip's clock, and data pins that both sides drive."""
    found = files_with_sdram(80.0)
    assert jobs_with_sdram(found["top.debug.v"], found["board.sv"]) == 3


BROKEN = {
    "phase": (r"\.CLKOS_CPHASE\(32'd11\)", ".CLKOS_CPHASE(32'd6)", "change too near to the clock"),
    "always driven": (r"= ~ oe;", "= 1'b0;", "data pins driven from both sides"),
    "never driven": (r"= ~ oe;", "= 1'b1;", "a write whose word is not driven"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_top(name: str) -> None:
    """The model of the chip finds it."""
    found = files_with_sdram(80.0)
    old, new, said = BROKEN[name]
    top, count = re.subn(old, new, found["top.debug.v"])
    assert count
    with pytest.raises(SdramError, match=said):
        jobs_with_sdram(top, found["board.sv"])


@pytest.mark.long
def test_a_sample_too_early() -> None:
    """A controller that does not know of the registers at the pins reads wrong words."""
    found = files_with_sdram(80.0, pin_registers=False)
    with pytest.raises(AssertionError):
        jobs_with_sdram(found["top.debug.v"], found["board.sv"])


@pytest.mark.parametrize("mhz", [10, 25, 50, 65, 80, 100, 133])
def test_the_clock_of_an_sdram(mhz: float) -> None:
    """It lags as far as the controller assumes, and its setting is within the device's limits."""
    pll = fastest_clock("ecp5", 25.0, mhz)
    degrees = Sdram(mhz=pll.mhz).clock_phase
    found = pll.lagging(Signal(), degrees)
    assert found["p_CLKOS_DIV"] == pll.output
    assert 0 <= found["p_CLKOS_CPHASE"] < 128
    assert 0 <= found["p_CLKOS_FPHASE"] < 8
    # The first clock's setting is the divisor less one.
    cycles = found["p_CLKOS_CPHASE"] + found["p_CLKOS_FPHASE"] / 8 - (pll.output - 1)
    assert abs(cycles % pll.output - degrees / 360 * pll.output) <= 1 / 16


def test_no_pins_for_an_sdram() -> None:
    said = refusal(lambda: replace(target("icebreaker"), sdram=True))
    assert said == (
        "the board of an accelerator with SDRAM must be one of ulx3s-12f, ulx3s-25f, ulx3s-45f, "
        "ulx3s-85f, not icebreaker"
    )
    pll = fastest_clock("ice40", 12.0, 48.0)
    assert refusal(lambda: pll.lagging(Signal(), 180)) == "Ice40Pll makes no second clock"
    said = refusal(lambda: PlatformTop(BOARDS["ulx3s-85f"], "board", pll, Sdram(mhz=48.0)))
    assert said == "`sdram` must have `pin_registers`"
    top = files("ulx3s-85f")["top.debug.v"]
    assert refusal(lambda: Pins.of(top, "", PART)) == "there is no PLL with a clock for an SDRAM"


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


# The PLL of the 7 series takes no oscillator below 19 MHz.
@pytest.mark.parametrize(
    ("family", "reference"),
    [(f, mhz) for f in PLLS for mhz in (12.0, 25.0, 48.0, 100.0) if f != "xilinx7" or mhz >= 19],
)
def test_clocks(family: str, reference: float) -> None:
    """They are in the device's limits, at most as fast as asked, and serve the serial line."""
    for most in (20.0, 33.3, 48.0, 66.7, 100.0):
        pll = fastest_clock(family, reference, most, baud=1_000_000)
        assert pll.is_allowed
        assert most * 0.85 < pll.mhz <= most
        assert pll.mhz == pytest.approx(reference * pll.multiply / pll.divide / pll.output)
        assert abs(round(pll.mhz) / pll.mhz - 1) <= 0.01
    said = refusal(lambda: fastest_clock(family, reference, 0.5))
    assert said == f"no clock of 0.5 MHz or less is made from {reference:g} MHz"


def gemm(run: Run, *words: str) -> list[Any]:
    rng = np.random.default_rng(5)
    a, b = (run.save(f"{x}.npy", rng.integers(-9, 9, (6, 6)).astype(float)) for x in "ab")
    return ["gemm", a, b, *words]


def matrix(run: Run, *words: str) -> list[Any]:
    file = run.directory / "a.mtx"
    found = sparse_random(24, 24, density=0.15, rng=np.random.default_rng(3), format="coo")
    mmwrite(file, found)
    return [words[0], file, *words[1:]]


def tensor(run: Run, *words: str) -> list[Any]:
    rng = np.random.default_rng(4)
    file = run.directory / "x.tns"
    rows = {tuple(rng.integers(1, 9, 3).tolist()) for _ in range(60)}
    file.write_text("".join(f"{i} {j} {k} {i - j + 0.5}\n" for i, j, k in sorted(rows)))
    return [words[0], file, *words[1:]]


COMMANDS: dict[str, tuple[str, Callable[[Run], list[Any]]]] = {
    "gemm": ("engine_m3xu", lambda run: gemm(run, "--unit", "m3xu", "--on", "engine")),
    "gta gemm": ("gta", lambda run: gemm(run, "--unit", "gta", "--mode", "int16")),
    "spgemm": ("matraptor", lambda run: matrix(run, "spgemm")),
    "spmttkrp": ("tensaurus", lambda run: tensor(run, "spmttkrp", "--rank", "4")),
    "pagerank": ("sida", lambda run: matrix(run, "pagerank", "--tolerance", "0.01")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_on_a_noisy_board(name: str, run: Run) -> None:
    """A command on the top of a bitstream, behind a pseudo-terminal that loses and changes bytes:
    every result is that of the model."""
    unit, words = COMMANDS[name]
    entry = entries()[unit]
    top = BoardTop(entry.unit, entry.small_config, memory_bytes=1 << 18, divisor=DIVISOR)
    one = replace(
        target("ulx3s-85f"), emit=lambda divisor, chip: emit_component(top, name="board").verilog
    )
    made = one.files(one.clock(25.0), simulated=True)
    pins = Pins.of(made["top.debug.v"], made["board.sv"])
    board = SerialBoard(pins, divisor=DIVISOR, spoil=Noise(1, 0.0002))
    settings = [
        f"{key}={','.join(value) if isinstance(value, tuple) else value}"
        for key, value in entry.small.items()
    ]
    sets = [word for setting in settings for word in ("--set", setting)]
    with behind_a_terminal(board) as port:
        file = run.directory / "report.json"
        given = [*words(run), *sets, "--backend", "board", "--port", port, "--json", file]
        assert run(*given) == 0, run.err + run.out
    assert run.report()["backend"] == "board"
    assert board.cycles > 10_000
