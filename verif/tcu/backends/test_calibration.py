"""The line that is fitted to calls, beside NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.sim.tcu import UnitWork
from tilewright.sim.tcu.presets import Calibration, calibrate, calibrated_rows, fit


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
