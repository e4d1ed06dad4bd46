"""The cycle model of the compute array against the hardware: equal, cycle for cycle."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.tensaurus.cycles.array_state import COUNTS
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.tensaurus.array.array_bench import (
    JOBS,
    ArrayBench,
    Tile,
    random_job,
    random_tile,
    small,
)
from tilewright.verif.tensaurus.cycles.array_alone import RowSlots, array_counts

pytestmark = pytest.mark.long


def row_slots(bench: ArrayBench, tiles: list[Tile]) -> list[RowSlots]:
    """The slots that the bench sends."""
    found = []
    for row in range(bench.config.rows):
        kind, index = [], []
        for tile in tiles:
            for slot in bench.slots(tile.slices[row]):
                kind.append(slot["kind"])
                index.append(slot["index"])
        found.append(RowSlots(np.array(kind), np.array(index)))
    return found


def compare(bench: ArrayBench, name: str, seed: int, slices: int = 12) -> None:
    config: TensaurusConfig = bench.config
    kernel, order, vectors, scalars = JOBS[name]
    rng = np.random.default_rng(seed)
    job = random_job(config, rng, kernel, order, vectors=vectors, scalars=scalars)
    lengths = [1, 1, 2, 3, 4, 5, 8, 13, 21, 34, 150]
    sides = int(rng.integers(8))
    tiles = [
        random_tile(config, rng, job, slices=count, lengths=lengths, sides=sides)
        for count in (slices, 0, slices // 2)
    ]
    bench.unit.reset()
    bench.begin(job)
    bench.load(tiles[0])
    phase = bench.unit.cycle
    bench.run(tiles)
    counts = bench.counts()
    expected = array_counts(
        config,
        Kernel(name=kernel, order=order, vectors=vectors, scalars=scalars),
        row_slots(bench, tiles),
        bench.regions(job),
        [tile.sides for tile in tiles],
        phase=phase,
        limit=100_000,
    )
    # Slots come later there.
    names = set(COUNTS) - {"wait_slots"}
    assert {n: expected.events[n] for n in names} == {n: counts[n] for n in names}
    assert expected.busy == counts["last"] - counts["first"] + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_every_count_is_equal(name: str) -> None:
    bench = ArrayBench(small())
    for seed in range(max(1, cases(20) // 5)):
        compare(bench, name, seed)


@pytest.mark.parametrize("stages", slow_but([], [1, 2], [2]))
def test_other_latencies(stages: int) -> None:
    """Fewer partial sums, and rows that are no power of two."""
    rows = 1 + 2 * (stages - 1)
    bench = ArrayBench(
        small(order=3, rows=rows, vlen=1, adder_stages=stages, multiplier_stages=stages)
    )
    for name in ("mm 1", "mv", "mttkrp 3, 1", "ttmc 3, 1 3"):
        compare(bench, name, 60)
