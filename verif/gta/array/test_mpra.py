"""A lane's array: products with held operands and with held sums, fold after fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.sim import Simulator
from tilewright.hw.gta.layouts import Base
from tilewright.hw.gta.mpra import Mpra
from tilewright.hw.spec.gta import COLS, ROWS, GtaConfig
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.long

Matrix = npt.NDArray[np.int64]

TIMES = [1, 5, 8, 13]

IDLE: dict[str, int] = {"limb": 0, "base": 0, "y_shift": 0, "swap": 0}


class Wave:
    """Inputs of each row and column in each cycle, and the outputs of the columns.

    Parameters
    ----------
    formats: of the configuration
    idle: fields of x in cycles of which nothing else is said
    """

    def __init__(self, cycles: int, *formats: str, **idle: int) -> None:
        self.cycles, self.config = cycles, GtaConfig(formats=formats)
        more = {"shift_drain": 0, "last": 0} if self.config.second_rank else {}
        self.x = [[{**IDLE, **more, **idle} for _ in range(ROWS)] for _ in range(cycles)]
        self.y = [[0] * COLS for _ in range(cycles)]
        self.sums = np.zeros((cycles, COLS), object)
        self.drains = np.zeros((cycles, COLS), object)

    def run(self) -> None:
        mpra = Mpra(self.config)

        async def bench(sim: Any) -> None:
            for cycle in range(self.cycles):
                for r in range(ROWS):
                    sim.set(mpra.x[r], self.x[cycle][r])
                for c in range(COLS):
                    sim.set(mpra.y[c], self.y[cycle][c])
                    self.sums[cycle, c] = sim.get(mpra.sum[c])
                    if self.config.second_rank:
                        self.drains[cycle, c] = sim.get(mpra.drain[c])
                await sim.tick()

        simulator = Simulator(mpra)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()


def matrices(seed: int, count: int, shape: tuple[int, int]) -> list[Matrix]:
    """Limbs, the ends of their range among others."""
    rng = np.random.default_rng(seed)
    found = [rng.integers(-256, 256, shape) for _ in range(count)]
    found[0][:] = -256
    return found


@pytest.mark.parametrize("time", slow_but([5], TIMES, [13]))
def test_held_operands(time: int) -> None:
    """Starts a fold every max(T, 8) cycles: the next operands move down after the wave that
    swaps."""
    interval, folds = max(time, ROWS), 4
    a, b = matrices(time, folds, (time, ROWS)), matrices(50 + time, folds, (ROWS, COLS))
    wave = Wave((folds + 4) * interval + 30, "int8", base=Base.ABOVE)
    for f in range(folds):
        load = f * interval
        for s in range(ROWS):
            for c in range(COLS):
                wave.y[load + s + c][c] = int(b[f][ROWS - 1 - s, c])
            for r in range(s + 1):
                wave.x[load + s][r]["y_shift"] = 1
        for r in range(ROWS):
            wave.x[load + ROWS + r][r]["swap"] = 1
            for t in range(time):
                wave.x[load + ROWS + r + t][r]["limb"] = int(a[f][t, r])
    wave.run()
    for f in range(folds):
        first = f * interval + 2 * ROWS + 1
        found = [[wave.sums[first + t + c, c] for c in range(COLS)] for t in range(time)]
        assert found == (a[f] @ b[f]).tolist(), f


@pytest.mark.parametrize("time", slow_but([5], TIMES, [13]))
def test_held_sums(time: int) -> None:
    """A fold every max(T, 8) cycles: the last one's sums leave row by row meanwhile."""
    interval, folds = max(time, ROWS), 4
    a, b = matrices(time, folds, (ROWS, time)), matrices(50 + time, folds, (time, COLS))
    wave = Wave((folds + 4) * interval + 30, "int8", "fp16", base=Base.OWN, y_shift=1, swap=1)
    for f in range(folds + 1):
        begin = f * interval + 1
        for r in range(ROWS):
            wave.x[begin + r][r]["base"] = Base.ZERO
            for s in range(r if f else 0):
                wave.x[begin + ROWS + s][r]["shift_drain"] = 1
        for t in range(time if f < folds else 0):
            for r in range(ROWS):
                wave.x[begin + t + r][r]["limb"] = int(a[f][r, t])
            for c in range(COLS):
                wave.y[begin - 1 + t + c][c] = int(b[f][t, c])
    wave.run()
    for f in range(folds):
        first = (f + 1) * interval + 1 + ROWS + 1
        found = [[wave.drains[first + s + c, c] for c in range(COLS)] for s in range(ROWS)]
        assert found[::-1] == (a[f] @ b[f]).tolist(), f


@pytest.mark.parametrize("time", slow_but([5], TIMES, [13]))
def test_held_sums_without_a_second_rank(time: int) -> None:
    """A fold every T + 7 cycles: the last one's sums leave first, each row in time for its next."""
    interval, folds = time + ROWS - 1, 4
    a, b = matrices(time, folds, (ROWS, time)), matrices(50 + time, folds, (time, COLS))
    wave = Wave((folds + 4) * interval + 30, "int8", base=Base.OWN, y_shift=1, swap=1)
    for f in range(folds + 1):
        begin = f * interval + 1
        for r in range(ROWS):
            wave.x[begin + r][r]["base"] = Base.ZERO
            for s in range(r if f else 0):
                wave.x[begin + s][r]["base"] = Base.ABOVE
        for t in range(time if f < folds else 0):
            for r in range(ROWS):
                wave.x[begin + t + r][r]["limb"] = int(a[f][r, t])
            for c in range(COLS):
                wave.y[begin - 1 + t + c][c] = int(b[f][t, c])
    wave.run()
    for f in range(folds):
        first = (f + 1) * interval + 1 + 1
        found = [[wave.sums[first + s + c, c] for c in range(COLS)] for s in range(ROWS)]
        assert found[::-1] == (a[f] @ b[f]).tolist(), f
