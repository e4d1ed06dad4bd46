"""The way of sums of segments to memory, back, and through the array: the estimate of schedules
beside the model of cycles that equals the RTL."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.gta.regions import rectangles
from tilewright.sim.gta.schedule.segmented_cost import added_cycles, last_tile, sums_cost
from tilewright.sim.gta.tiles.choice import Choice, choose
from tilewright.sim.gta.tiles.program import CommandList, LaneJob
from tilewright.sim.gta.tiles.segmented_product import SegmentedProduct
from tilewright.sim.gta.timed import TimedGta
from tilewright.verif.gta.schedule.executes import Executes
from tilewright.verif.kit.sampling import by_size

CONFIG = GtaConfig()


class Behind(CommandList):
    """A list whose segments have their operands on chip: without their LOADs."""

    def __init__(self) -> None:
        super().__init__()
        self.adds_up = False

    def add(
        self, kind: str, fields: Mapping[str, int], *, behind: Mapping[str, int] | None = None
    ) -> int:
        needs = dict(behind or {})
        if kind == "load":
            # LOADs of sums wait for STOREs.
            self.adds_up |= "store" in needs
            if not self.adds_up:
                return 0
        elif not self.adds_up:
            needs.pop("load", None)
        return super().add(kind, fields, behind=needs)


class Segments(Executes):
    """Lists only the EXECUTEs of segments."""

    def __init__(self) -> None:
        super().__init__()
        self._ends = False

    def add(
        self, kind: str, fields: Mapping[str, int], behind: Mapping[str, int] | None = None
    ) -> int:
        self._ends |= kind == "load" and "store" in (behind or {})
        return 1 if self._ends else super().add(kind, fields)


def span(timed: TimedGta, listed: CommandList, choice: Choice, base: int) -> int:
    """Cycles from the first EXECUTE's begin to the last one's end."""
    job = LaneJob(choice.layout, rectangles(CONFIG, choice.layout, choice.regions))
    timed.write_memory(base, listed.to_bytes())
    registers = {"LIST": base, "COMMANDS": len(listed), **job.registers(CONFIG)}
    status = JobRegisters(timed, job_spec(CONFIG)).submit(registers)
    assert status.error == "none"
    return status.counts["busy_cycles"] + status.counts["stalls"]


def ratio(rng: np.random.Generator, timed: TimedGta) -> float:
    """Returns the ratio of the estimate to the time of a product after its segments."""
    format, flow = str(rng.choice(CONFIG.integers)), str(rng.choice(["ws", "is", "os"]))
    segments = int(rng.choice([2, 4]))
    m, n = (int(2 ** rng.uniform(0, 6)) for _ in range(2))
    k = int(2 ** rng.uniform(4, 9))
    layout = CONFIG.lanes // segments, 1
    choice = choose(CONFIG, format, (m, n, k), dataflow=flow, layout=layout, segments=segments)
    assert choice is not None
    assert choice.sums is not None
    made = SegmentedProduct(choice.tiling, k, choice.sums, narrow="none", use_c=False)
    places, base = {}, 0
    for name, image in made.images.items():
        places[name] = base
        base += -(-image.size // 4096) * 4096
    times = []
    for listed in (Behind(), Segments()):
        for _ in made.steps(places, listed):
            pass
        times.append(span(timed, listed, choice, base))
    tiling, problem = choice.tiling, choice.tiling.problem
    sizes, piece = (problem.m, problem.n), made.images["d"].piece
    last = last_tile(sizes, (tiling.m, tiling.n), lateral=problem.lateral)
    worked = sums_cost(CONFIG, choice.sums, sizes, piece).cycles
    estimate = added_cycles(CONFIG, choice.sums, sizes, piece, last, worked)
    return estimate / (times[0] - times[1])


@pytest.mark.slow
def test_about_as_long_as_the_hardware() -> None:
    """Estimates are close to the hardware's cycles on a memory with a latency of 20; the page has
    the figures of the long test."""
    rng, timed = np.random.default_rng(3), TimedGta(CONFIG, 1 << 22, values=False)
    found = np.array([ratio(rng, timed) for _ in range(by_size(12, 40, 300))])
    print(f"mean {found.mean():.2f}, from {found.min():.2f} to {found.max():.2f},", end=" ")
    print(f"standard deviation {found.std():.2f}")
    assert abs(found.mean() - 1) < 0.08
    assert found.std() < 0.18
    assert found.min() > 0.4
    assert found.max() < 1.6


@pytest.mark.parametrize(
    ("sizes", "tile", "lateral", "expected"),
    [
        ((10, 7), (4, 7), True, (2, 7)),
        ((10, 7), (4, 3), True, (2, 1)),
        ((8, 7), (4, 3), True, (4, 3)),
        ((10, 7), (4, 3), False, (2, 1)),
        ((10, 6), (4, 3), False, (4, 3)),
    ],
)
def test_the_last_tile(
    sizes: tuple[int, int], tile: tuple[int, int], *, lateral: bool, expected: tuple[int, int]
) -> None:
    """Finds the last tile of a walk to and fro."""
    assert last_tile(sizes, tile, lateral=lateral) == expected
