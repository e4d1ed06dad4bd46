"""An SDRAM behind several managers: bursts of all at once, before a model of the chip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.board.board_top import BoardTop
from tilewright.hw.board.sdram_controller import SdramController
from tilewright.hw.board.sdram_memory import SdramMemory
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.sdram import Sdram, SdramGeometry, SdramTiming
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.sim.device.wire import WireDevice
from tilewright.sim.rtl.sdram_chip import PARTS, SdramError
from tilewright.sim.rtl.serial_board import SerialBoard
from tilewright.sim.rtl.streams import Pauses
from tilewright.synth.fpga import place_and_route
from tilewright.verif.board.boards import DIVISOR, TOY, with_sdram
from tilewright.verif.board.memory_bench import Burst, Flat, SdramBench, bursts_in, sdram_bench
from tilewright.verif.catalogue.toy.exercise import exercise as toy_exercise
from tilewright.verif.catalogue.toy.spec import TOY_ADDER
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but


def regions(memory_bytes: int, rng: np.random.Generator) -> list[range]:
    """One for each manager: at the begin, somewhere, and outside."""
    somewhere = int(rng.integers(1, memory_bytes >> 16)) << 16
    return [
        range(1 << 14),
        range(somewhere, somewhere + 40_960),
        range(memory_bytes, memory_bytes + 8192),
    ]


CASES = [(25, 4), (50, 16), (60, 8), (80, 8), (100, 8), (100, 64), (133, 4), (133, 32)]
KEPT = [(100, 8), (133, 4)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("case", slow_but([], CASES, KEPT))
def test_bursts(case: tuple[int, int], part: str) -> None:
    """Each manager writes its region and reads it, while the next one writes its own."""
    bench = sdram_bench(*case)
    bench.power_up(PARTS[part])
    rng = rng_of(sum(case))
    reads: dict[int, list[Burst]] = {}
    for seed in range(by_size(2, 6, 40)):
        pauses = Pauses(gap=0.3, stall=0.3, seed=seed) if seed % 3 else Pauses()
        writes = {
            number: bursts_in(rng, region, 20, bench.width)
            for number, region in enumerate(regions(bench.memory_bytes, rng))
        }
        bench.move(rng, writes=writes, reads=reads, pauses=pauses)
        bench.move(rng, reads=writes, pauses=pauses)
        reads = {2 - number: bursts for number, bursts in writes.items() if number != 0}
    report = bench.report()
    assert (bench.rule(), report["broken"]) == ("", 0)
    assert report["words"] > 0


@pytest.mark.long
@pytest.mark.parametrize("mhz", [50, 100])
def test_registers_at_the_pins(mhz: int) -> None:
    """The top of a board may register all pins, both ways."""
    bench = sdram_bench(mhz, 8, pin_registers=True)
    bench.power_up()
    rng = rng_of(mhz)
    wanted = {
        0: bursts_in(rng, range(1 << 16), 200, 8),
        1: bursts_in(rng, range(1 << 20, 1 << 21), 200, 8),
    }
    bench.move(rng, writes=wanted)
    bench.move(rng, reads=wanted)
    assert bench.rule() == ""


def test_no_direction_waits_for_the_other() -> None:
    """A manager without data, or one that takes none, holds up nobody's other direction."""
    bench = sdram_bench(100, 8)
    bench.power_up()
    rng = rng_of(3)
    one, other = [Burst(0, 64, 1)], [Burst(8192, 64, 2)]
    bench.move(rng, writes={1: other})
    # A write whose data do not come.
    bench.rtl.run_streams({"aw_0": bench.payloads("aw_0", one)}, {})
    bench.move(rng, reads={1: other})
    bench.rtl.reset()
    # A read whose data are not taken.
    bench.rtl.run_streams({"ar_0": bench.payloads("ar_0", one)}, {})
    bench.move(rng, writes={1: other})
    assert bench.rule() == ""


# Each time of a chip is kept, and no cycle more: a chip that needs another one finds it.

SLOWER = {
    "t_rcd": "RCD", "t_rp": "RP", "t_rc": "RC", "t_ras": "RAS", "t_rfc": "RFC", "t_wr": "WR",
    "t_hz": "CONTENTION", "t_window": "WINDOW", "t_power_up": "POWER_UP",
    "first_refreshes": "FEW_REFRESHES",
}  # fmt: skip
LONGEST_WAIT = 30
"""Cycles that a refresh may wait for the accesses before it."""
WINDOW = 16
"""Refreshes in ``t_window``."""


def times_kept(chip: Sdram, time: str) -> int:
    """The longest time of this name with which the controller is content, in picoseconds."""
    cycles, period = chip.cycles, round(1e6 / chip.mhz)
    counts = {
        "t_rcd": cycles.rcd, "t_rp": cycles.rp, "t_rc": cycles.ras + cycles.rp,
        "t_ras": cycles.ras, "t_rfc": cycles.rfc, "t_wr": cycles.wr, "t_power_up": cycles.power_up,
        "t_hz": cycles.turn - cycles.cas,
    }  # fmt: skip
    return counts[time] * period - (time == "t_hz") * period * chip.clock_phase // 360


def move_much(bench: SdramBench, rng: np.random.Generator) -> None:
    """Managers meet in the same banks, in different rows."""
    for _ in range(by_size(10, 10, 50)):
        regions_ = (range(at, at + (1 << 12)) for at in (0, 1 << 20))
        first, second = (bursts_in(rng, region, 50, bench.width) for region in regions_)
        bench.move(rng, writes={0: first, 1: second})
        bench.move(rng, writes={0: first}, reads={1: second})


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("time", SLOWER)
def test_a_slower_chip(time: str, more: int) -> None:
    bench = sdram_bench(133, 4)
    if time == "first_refreshes":
        times = {time: bench.chip.timing.refreshes + more}
    elif time == "t_window":
        cycles = WINDOW * bench.chip.cycles.refresh + (-1 if more else LONGEST_WAIT)
        times = {time: cycles * round(1e6 / 133), "refreshes": WINDOW}
    else:
        # The reset's cycles are power-up, too.
        unit = 40_000 if time == "t_power_up" else 1
        times = {time: times_kept(bench.chip, time) + unit * more}
    bench.power_up(changed=times)
    move_much(bench, rng_of(1))
    assert bench.rule() == (SLOWER[time] if more else "")
    assert bench.report()["refreshes"] > 2 * WINDOW


@pytest.mark.long
def test_every_row_in_64_milliseconds() -> None:
    """The model knows when each row was refreshed; the memory is never idle."""
    bench = sdram_bench(25, 4)
    bench.power_up()
    rng = rng_of(1)
    wanted = {n: bursts_in(rng, range(n << 16, (n + 1) << 16), 500, 4) for n in range(2)}
    bench.move(rng, writes=wanted)
    while bench.report()["refreshes"] < 8192 + 500:
        bench.move(rng, reads=wanted)
    assert bench.rule() == ""


def test_data_that_come_too_late() -> None:
    """The controller's edge lies in the time that the chip gives, and not beyond."""
    bench = sdram_bench(133, 4)
    period, most = 1000 / 133, bench.chip.delay[1]
    lag = bench.chip.clock_phase / 360 * period
    cycles = bench.chip.cycles
    access = cycles.sample * period - lag - (cycles.cas - 1) * period - most
    rng = rng_of(1)
    wanted = {0: [Burst(0, 64, 0)]}
    bench.power_up(changed={"t_ac3": int(1000 * access) - 5})
    bench.move(rng, writes=wanted)
    bench.move(rng, reads=wanted)
    bench.power_up(changed={"t_ac3": int(1000 * access) + 5})
    bench.move(rng, writes=wanted)
    with pytest.raises(AssertionError, match="not equal"):
        bench.move(rng, reads=wanted)


# Figures of the page.

PAGE = Path(__file__).parents[2] / "docs" / "bridge.md"
WIDTH = 8


def in_turn(beats: int, first: int = 0) -> list[Burst]:
    """Bursts one behind the other, 64 KiB in all."""
    size = beats * WIDTH
    return [Burst(first + at, beats, 0) for at in range(0, 1 << 16, size)]


def anywhere(beats: int) -> list[Burst]:
    size = beats * WIDTH
    places = rng_of(beats).permutation((1 << 25) // size)[: (1 << 16) // size]
    return [Burst(int(place) * size, beats, 0) for place in places]


TRAFFIC: dict[str, tuple[dict[int, list[Burst]], dict[int, list[Burst]]]] = {
    "write, bursts of 64 beats": ({0: in_turn(64)}, {}),
    "read, bursts of 64 beats": ({}, {0: in_turn(64)}),
    "write, bursts of 8 beats": ({0: in_turn(8)}, {}),
    "read, bursts of 8 beats": ({}, {0: in_turn(8)}),
    "write, one beat": ({0: in_turn(1)}, {}),
    "read, one beat": ({}, {0: in_turn(1)}),
    "read, bursts of 64 beats, random addresses": ({}, {0: anywhere(64)}),
    "read, bursts of 8 beats, random addresses": ({}, {0: anywhere(8)}),
    "read by one manager and write by another, bursts of 64 beats": (
        {0: in_turn(64, 1 << 20)}, {1: in_turn(64)},
    ),
    "read by one manager and write by another, bursts of 8 beats": (
        {0: in_turn(8, 1 << 20)}, {1: in_turn(8)},
    ),
}  # fmt: skip


CLOCKS = (25, 50, 80, 100, 133)


def clocks_of_the_page() -> list[str]:
    """Phase and cycles of some clocks."""
    rows = []
    for mhz in CLOCKS:
        chip = Sdram(mhz=mhz)
        cycles = chip.cycles
        figures = (
            chip.clock_phase, cycles.cas, cycles.rcd, cycles.rp, cycles.ras, cycles.rfc, cycles.wr,
            cycles.turn, f"{cycles.refresh:,}", f"{cycles.power_up:,}",
        )  # fmt: skip
        rows.append(f"| {mhz} | {' | '.join(map(str, figures))} |")
    return rows


def rows_of_the_page(bench: SdramBench) -> list[str]:
    """Cycles a byte of each traffic, and the part that it has of two bytes a cycle."""
    bench.power_up()
    rng = rng_of(0)
    bench.move(rng, writes={0: in_turn(64)})  # behind power-up
    rows = []
    for name, (writes, reads) in TRAFFIC.items():
        cycles = bench.move(rng, writes=writes, reads=reads, masked=False)
        count = (1 << 16) * (len(writes) + len(reads))
        rows.append(f"| {name} | {cycles / count:.3f} | {50 * count / cycles:.1f} % |")
    return rows


def test_the_figures_of_the_page() -> None:
    page = PAGE.read_text()
    bench = sdram_bench(100, WIDTH)
    for row in (*clocks_of_the_page(), *rows_of_the_page(bench)):
        assert row in page, row
    assert bench.rule() == ""


@pytest.mark.long
def test_area_and_clock_of_the_page() -> None:
    memory = SdramMemory(2, Sdram(mhz=100), addr_bits=32, data_bits=64, id_bits=1)
    emitted = emit_component(Flat(memory, 2), name="memory")
    report = place_and_route(emitted.verilog, "memory", "ecp5", config={})
    assert report.luts < 1400
    assert report.fmax_mhz is not None
    assert report.fmax_mhz > 100
    assert "fewer than 1,400 LUTs and reaches more than 100 MHz" in PAGE.read_text()


# Boards.

UNITS = [name for name, one in entries().items() if one.unit.jobs]


@pytest.mark.parametrize("part", slow_but([], PARTS, ["AS4C16M16SA-7"]))
def test_a_board(part: str) -> None:
    """The toy adder works on the SDRAM, through the pins; the memory is 32 MiB."""
    board = SerialBoard(with_sdram(TOY_ADDER, TOY, Sdram(mhz=25), part), divisor=DIVISOR)
    size = 32 << 20
    with WireDevice(TOY_ADDER, TOY, board) as device:
        assert device.memory_bytes == size
        device.write_memory(size - 3, b"end")
        assert device.read_memory(size - 3, 3) == b"end"
        assert toy_exercise(device, rng_of(1)) == 3
        with pytest.raises(IndexError, match="lie outside"):
            device.read_memory(size - 1, 2)


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_boards_of_every_accelerator(name: str) -> None:
    entry = entries()[name]
    design = with_sdram(entry.unit, entry.small_config, Sdram(mhz=25), "AS4C16M16SA-7")
    with WireDevice(entry.unit, entry.small_config, SerialBoard(design, divisor=DIVISOR)) as device:
        assert named_object(entry.exercise)(device, np.random.default_rng(1)) > 0


def test_a_board_that_begins_too_early() -> None:
    """What the model finds ends the simulation."""
    early = Sdram(mhz=25, timing=SdramTiming(t_power_up=100_000))
    design = with_sdram(TOY_ADDER, TOY, early, "AS4C16M16SA-7")
    with WireDevice(TOY_ADDER, TOY, SerialBoard(design, divisor=DIVISOR)) as device:
        with pytest.raises(SdramError) as caught:
            device.read_memory(0, 100)
        said = "the model of the SDRAM has found: a command before the end of power-up"
        assert str(caught.value) == said


# Parameters.


def test_phases_of_the_page() -> None:
    """Where the phase of the chip's clock changes."""
    phases = {mhz: Sdram(mhz=mhz).clock_phase for mhz in (50, 51, 71, 72, 125, 126, 133)}
    assert list(phases.values()) == [180, 90, 90, 270, 270, 225, 225]


def test_cycles_are_not_shorter_than_times() -> None:
    timing = SdramTiming()
    for mhz in range(10, 134):
        chip = Sdram(mhz=mhz)
        cycles, period = chip.cycles, 1000 / mhz
        for name in ("rcd", "rp", "ras", "rfc", "rrd", "wr", "mrd", "power_up"):
            time = getattr(timing, f"t_{name}")
            assert (getattr(cycles, name) + 1e-6) * period >= time
        assert (cycles.ras + cycles.rp + 1e-6) * period >= timing.t_rc
        assert 8192 * cycles.refresh * period < 64e6 - 8000 * period


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mhz": 0}, "`mhz` must be above 0 and at most 133.3, not 0"),
        ({"mhz": 140}, "`mhz` must be above 0 and at most 133.3, not 140"),
        (
            {"mhz": 100, "phase": 180},
            "`mhz` must be one at which a phase of 180 degrees samples safely, not 100",
        ),
        (
            {"mhz": 100, "delay": (0, 20)},
            "`mhz` must be one at which any phase samples safely, not 100",
        ),
    ],
)
def test_wrong_clocks(values: dict[str, Any], said: str) -> None:
    assert refusal(lambda: Sdram(**values)) == said


def test_wrong_sizes() -> None:
    said = refusal(lambda: SdramGeometry(columns=500))
    assert said == "`columns` must be a power of two in 64..1024, not 500"
    assert (
        refusal(lambda: SdramGeometry(rows=1)) == "`rows` must be a power of two in 2..8192, not 1"
    )
    assert refusal(lambda: SdramTiming(t_rp=0)) == "`t_rp` must be above 0, not 0"
    said = refusal(lambda: SdramController(Sdram(mhz=50), 1))
    assert said == "`words` must be a power of two in 2..512, not 1"
    slow = Sdram(mhz=100, timing=SdramTiming(t_rrd=31))
    said = refusal(lambda: SdramController(slow, 2))
    assert said == "`t_rrd` must be at most 3 cycles, not 4"


@pytest.mark.parametrize("memories", [{}, {"memory_bytes": 4096, "sdram": Sdram(mhz=50)}])
def test_a_board_has_one_memory(memories: dict[str, Any]) -> None:
    said = refusal(lambda: BoardTop(TOY_ADDER, TOY, divisor=DIVISOR, **memories))
    assert said == "either `memory_bytes` or `sdram` must be given"
