"""The folds of a command in their order, and when their rows are fed, move down and drain."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator
from tilewright.hw.gta.lane.fold_sequencer import FoldWalk
from tilewright.hw.gta.lane.lane import WaitingFold
from tilewright.hw.gta.lane.left_feeder import FoldWindow
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import GtaConfig

CONFIG = GtaConfig(formats=("int8", "int16", "int32", "int64"))


def simulate(part: wiring.Component, bench: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """Runs a bench of a part with a clock."""
    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def walk_of(command: dict[str, int], rows: int, log: int) -> list[dict[str, int]]:
    """Returns the fields of each fold by two plain loops."""
    weights = command["operation"] == Operation.WS
    found = []
    row_folds, col_folds = range(command["row_folds"]), range(command["col_folds"])
    if command["lateral"]:
        order = [(row, col) for row in row_folds for col in col_folds]
    else:
        order = [(row, col) for col in col_folds for row in row_folds]
    for row, col in order:
        top = 16 * (command["top_base"] + col * command["top_stride"])
        found.append(
            {
                "left": (command["left_base"] + row * command["left_stride"]) % 32,
                "top": (top + ((row + 1) * rows - 1 if weights else 0)) % 512,
                "rows": command["rows_last"] if row == row_folds[-1] else rows,
                "word": (command["result_base"] + col * command["result_stride"]) % 32,
                "element": 0 if weights else row * (rows >> log),
                "accumulate": int(command["use_c"] or (weights and row > 0)),
                "last": int((row, col) == order[-1]),
            }
        )
    return found


@pytest.mark.parametrize("operation", Operation)
def test_walk(operation: Operation) -> None:
    """Walks with either loop inside, with addresses that wrap around, and commands in
    succession."""
    part = FoldWalk(CONFIG)
    rng = random.Random(operation.value)

    async def bench(sim: Any) -> None:
        for _ in range(20):
            lanes, log = rng.randint(1, 4), rng.randint(0, 3)
            names = ("left_base", "left_stride", "top_base", "top_stride", "result_base")
            command = {
                "operation": operation.value,
                "row_folds": rng.randint(1, 5),
                "col_folds": rng.randint(1, 4),
                "lateral": rng.randint(0, 1),
                "use_c": rng.randint(0, 1),
                "rows_last": rng.randint(1, 8 * lanes),
                "result_stride": rng.randint(0, 31),
                **{name: rng.randint(0, 31) for name in names},
            }
            sim.set(part.command, command)
            sim.set(part.limbs_log, log)
            sim.set(part.place, {"rows": lanes})
            sim.set(part.restart, 1)
            await sim.tick()
            sim.set(part.restart, 0)
            for want in walk_of(command, 8 * lanes, log):
                for _ in range(rng.randint(0, 2)):
                    await sim.tick()
                sim.set(part.step, 1)
                assert sim.get(part.ends) == want["last"]
                await sim.tick()
                sim.set(part.step, 0)
                result = sim.get(part.result)
                found = {name: sim.get(getattr(part, name)) for name in ("left", "top", "rows")}
                places = ("word", "element", "accumulate", "last")
                assert found | {name: result[name] for name in places} == want

    simulate(part, bench)


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_window(rows: int) -> None:
    """Stays open for R cycles, and R more if the next start follows at once."""
    part = FoldWindow(CONFIG)
    height, starts = 8 * rows, (2, 2 + 8 * rows, 2 + 16 * rows + 3)

    async def bench(sim: Any) -> None:
        for cycle in range(starts[-1] + height + 3):
            since = [cycle - start - 1 for start in starts if 0 <= cycle - start - 1 < height]
            assert sim.get(part.active) == bool(since)
            for n in since:
                for lane in range(rows):
                    sim.set(part.place, {"rows": rows, "row": lane})
                    assert sim.get(part.last) == (n == height - 1)
                    want = [8 * lane + r <= n for r in range(8)]
                    assert [bool(sim.get(part.reached) >> r & 1) for r in range(8)] == want
            sim.set(part.place, {"rows": rows, "row": 0})
            sim.set(part.start, int(cycle in starts))
            await sim.tick()

    simulate(part, bench)


@pytest.mark.parametrize("weights", [0, 1])
@pytest.mark.parametrize(("rows", "row"), [(1, 0), (3, 0), (3, 2), (4, 3)])
def test_waiting(weights: int, rows: int, row: int) -> None:
    """Folds R cycles apart, and more, each fed when its row is due."""
    part = WaitingFold(CONFIG)
    height = 8 * rows
    begins = [1, 1 + height, 1 + 2 * height, 4 + 3 * height, 60 + 4 * height]
    delay = (height if weights else 1) + 8 * row

    async def bench(sim: Any) -> None:
        sim.set(part.weights, weights)
        sim.set(part.place, {"rows": rows, "row": row})
        seen = []
        for cycle in range(begins[-1] + 2 * height + 3):
            valid = cycle in begins
            sim.set(part.valid, int(valid))
            sim.set(part.fold, {"left": begins.index(cycle) + 7 if valid else 0})
            if sim.get(part.go):
                seen.append((cycle, sim.get(part.o.left)))
            await sim.tick()
        assert seen == [(begin + delay, n + 7) for n, begin in enumerate(begins)]

    simulate(part, bench)
