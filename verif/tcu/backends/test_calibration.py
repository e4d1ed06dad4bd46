"""The line that is fitted to calls: against least squares of NumPy, and calls on the page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu import UnitWork
from tilewright.sim.tcu.presets import Calibration, calibrate, calibrated_rows, fit
from tilewright.sim.tcu.words import FP32, INT64
from tilewright.tables.tcu.lines import FAR, _least, _scanned, tcu_lines
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.backends.simulated import gta


def test_rows() -> None:
    assert calibrated_rows(4) == [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    assert calibrated_rows(16)[0] == 16
    assert calibrated_rows(12)[-1] == 3072


def test_a_line_is_found_exactly() -> None:
    found = calibrate("unit", 16, lambda n: 3 * n * 16 // 4 + 100)
    assert found == Calibration("unit", 16, 0.75, 100, 1)
    assert found.latency == pytest.approx(100 / 0.75)
    assert found.half_rows == pytest.approx(100 / 0.75 / 16)
    assert found.cycles(UnitWork(calls=3, rows=64)) == 0.75 * 64 * 16 + 300
    a, l = found.word_cycles, found.latency_cycles  # noqa: E741
    assert a * found.half_rows * 16 == pytest.approx(l)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = calibrated_rows(8)
    cycles = [int(0.6 * 8 * n + 900 + rng.integers(-300, 300)) for n in rows]
    found = fit("unit", 8, rows, cycles)
    x, y = 8.0 * np.array(rows), np.array(cycles)
    slope, start = np.polyfit(x, y, 1)
    assert found.word_cycles == pytest.approx(slope)
    assert found.latency_cycles == pytest.approx(start)
    assert found.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


def test_no_latency_is_below_zero() -> None:
    rows = [4, 8, 16]
    found = fit("unit", 4, rows, [10, 40, 100])
    x, y = 4.0 * np.array(rows), np.array([10, 40, 100])
    assert found.latency_cycles == 0
    assert found.word_cycles == pytest.approx(x @ y / (x @ x))
    assert found.r_squared < 1


def test_one_length_is_refused() -> None:
    message = r"^`rows` must be of two lengths or more, not \[4, 4\]$"
    with pytest.raises(ValueError, match=message):
        fit("unit", 4, [4, 4], [10, 10])


EVERY = ["gta, s = 4", "gta, s = 8", "gta, s = 16", "engine"]


@pytest.mark.parametrize("only", slow_but([], EVERY, ["gta, s = 8", "engine"]))
def test_the_page_has_what_is_printed(only: str) -> None:
    text = page("tcu-results.md").read_text()
    rows = tcu_lines("cmos", only=only).rows
    printed = [f"| {row.label} | {' | '.join(row.cells(row.ours))} |" for row in rows]
    assert len(printed) >= 6
    assert [line for line in printed if line not in text] == []
    if only == "engine":
        # Beyond 16 latencies within the bar of 3 %.
        assert all(abs(row.ours[-2] or 0) <= 3 for row in rows)


def test_a_line_that_is_there_is_found() -> None:
    words = [16, 32, 64, 128]
    assert _least(words, [3 * n + 50 for n in words]) == pytest.approx(0, abs=1e-9)
    # No line goes through all points of a bend.
    assert _least([1, 2, 3], [10, 10, 20]) == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(3))
def test_no_line_is_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = np.array([16, 32, 64, 128, 256])
    cycles = words * 2 + rng.integers(50, 150, 5)
    least = _least(words.tolist(), cycles.tolist())
    slopes, starts = np.meshgrid(np.linspace(1, 4, 301), np.linspace(0, 200, 401))
    each = abs((slopes[..., None] * words + starts[..., None]) / cycles - 1).max(axis=-1)
    assert least <= each.min() <= least + 0.01


def test_lengths_are_beyond_sixteen_latencies() -> None:
    backend = gta(8)
    found = calibrate("gta", 8, lambda rows: backend.call_cycles(rows, FP32))
    lengths = _scanned(found)
    assert min(lengths) * 8 >= FAR * found.latency
    assert {n % 8 for n in lengths} == {0, 1}
    assert max(lengths) > 3.9 * min(lengths)


def test_other_lanes() -> None:
    """One lane: as the table of the algorithms has it."""
    (row,) = tcu_lines("cmos", only="gta, s = 8, int64", settings=["lanes=1"]).rows
    backend = gta(8, "lanes=1")
    found = calibrate("gta", 8, lambda rows: backend.call_cycles(rows, INT64))
    said = 100 * (found.cycles(UnitWork(1, 8)) / backend.call_cycles(8, INT64) - 1)
    assert row.ours[3] == pytest.approx(said)
    assert row.ours[0] == found.word_cycles


REFUSED = {
    "--target ecp5": "tcu-lines is computed by a model: no --target, not 'ecp5'",
    "--set lanes=0": "--set lanes must be an integer in 1..64, not '0'",
    "--set side=4": "--set of tcu-lines must be lanes, not 'side'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "tcu-lines", *words.split()]) == 2
    assert re.sub(r"\s+", " ", capsys.readouterr().err) == f"error: {REFUSED[words]} "
    assert main(["table", "tcu-lines", "--only", "tpu"]) == 2
    assert "--only must be part of one of gta, s = 4, fp32; " in capsys.readouterr().err
