"""Filled schedules on the RTL of joined lanes: full folds, and what is left over behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.sim.gta.schedule.evaluate import Evaluated, cut, evaluate, left_over
from tilewright.sim.gta.schedule.pgemm import PGemm
from tilewright.sim.gta.schedule.space import schedules
from tilewright.sim.gta.vector.choice import laid_out
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.gta.schedule.cluster_jobs import (
    arrange,
    fits,
    float_products,
    products,
    vector_command,
)
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

CONFIGS = {
    "shared": SHARED,
    "four lanes": GtaConfig(lanes=4, formats=INTEGERS, vector_bytes=32768),
}


def measured(bench: ClusterBench, problem: PGemm, found: Evaluated) -> int | None:
    """Cycles of a part that is a single command; None if it does not fit the bench's memories."""
    one, config = found.schedule, bench.config
    job = ArrayJob(
        m=problem.m,
        n=problem.n,
        k=problem.k,
        format=problem.format,
        dataflow=one.dataflow,
        rows=one.rows,
        cols=one.cols,
        lateral=one.lateral,
    )
    if one.dataflow == "simd":
        # A tile, a group of octets of each bank.
        laid = laid_out(config, problem.format, (problem.m, problem.n, problem.k), one)
        tile = replace(job, m=laid.tiling.together * job.array[0], n=1)
        made = vector_command(config, tile, np.random.default_rng(1))
        if made is None:
            return None
        bench.arrange(one.cols.bit_length() - 1, [0] * config.lanes)
        taken, ends = bench.run([made.command()])
    else:
        floats = problem.format in config.floats
        parts = float_products(config, job) if floats else products(job)
        if not fits(config, parts):
            return None
        arrange(bench, job, parts)
        taken, ends = bench.run([part.command() for part in parts])
    return int(ends[-1][1] - taken[0])


@pytest.mark.parametrize("name", slow_but([], CONFIGS, []))
def test_filled(name: str) -> None:
    """Both parts, each a command by itself: their cycles are those of the schedule."""
    config = CONFIGS[name]
    bench, rng, checked = ClusterBench(config), np.random.default_rng(700), 0
    seen = set()
    while checked < by_size(3, 10, 60):
        m, n, k = (int(size) for size in rng.integers(1, 60, 3))
        format = str(rng.choice(config.formats))
        problem = PGemm(m=m, n=n, k=k, format=format)
        ways = [one for one in schedules(config, problem) if one.filled]
        if not ways:
            continue
        one = ways[rng.integers(len(ways))]
        parts = cut(problem, one)
        assert parts is not None
        full, rest = parts
        each = [
            (full, evaluate(config, full, replace(one, filled=False))),
            (rest, left_over(config, rest)),
        ]
        if any(found.cost.commands > 1 for _, found in each):
            continue
        cycles = [measured(bench, part, found) for part, found in each]
        if None in cycles:
            continue
        whole = evaluate(config, problem, one).cost.cycles
        assert sum(filter(None, cycles)) == whole, (problem, one.words)
        seen.add(one.dataflow)
        checked += 1
    assert "os" in seen
