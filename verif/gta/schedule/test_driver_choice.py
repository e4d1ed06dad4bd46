"""Whole jobs as the driver lays them out, beside the schedule of least squares: cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.sim.gta.schedule.cost import PGemm
from tilewright.sim.gta.schedule.explain import ranked, space
from tilewright.sim.gta.timed import TimedGta
from tilewright.verif.gta.jobs import words
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import SIZE, by_size

pytestmark = pytest.mark.slow

CONFIG = GtaConfig()
WAYS = ("estimate", "least squares", "fastest array")


def products(count: int) -> Iterator[PGemm]:
    """Draws products of all formats in turn, up to 128 each way, every third with a long K."""
    rng = np.random.default_rng(11)
    for number in range(count):
        format = FORMATS_OF_GTA[number % len(FORMATS_OF_GTA)]
        long = format in ("int64", "fp64")
        m, n, k = (int(2 ** rng.uniform(0, 5 if long else 7)) for _ in range(3))
        if number % 3 == 0:
            k = int(2 ** rng.uniform(5, 8 if long else 11))
        yield PGemm(m=m, n=n, k=k, format=format)


def ways(problem: PGemm) -> dict[str, dict[str, Any]]:
    """Returns the driver's arguments for each way: none, or a schedule that it can run."""
    found = [
        one
        for one in space(CONFIG, problem)
        if one.schedule.dataflow != "simd" and not one.schedule.filled
    ]
    fastest = min(found, key=lambda one: (one.cost.time, one.cost.cycles, one.cost.moved.total))
    schedules = {WAYS[1]: ranked(found)[0].evaluated.schedule, WAYS[2]: fastest.schedule}
    told = {
        name: {
            "dataflow": one.dataflow,
            "layout": (one.rows, one.cols),
            "segments": one.segments,
            "lateral": one.lateral,
        }
        for name, one in schedules.items()
    }
    return {WAYS[0]: {}, **told}


def test_the_estimate_takes_fewer_cycles() -> None:
    """The estimate saves cycles in total; the page has the figures of the long test."""
    driver, rng = GtaDriver(TimedGta(CONFIG, 1 << 23)), np.random.default_rng(12)
    totals = dict.fromkeys(WAYS, 0)
    ratios: dict[str, list[float]] = {name: [] for name in WAYS}
    count = by_size(8, 16, 40)
    for problem in products(count):
        a = words(rng, problem.format, (problem.m, problem.k))
        b = words(rng, problem.format, (problem.k, problem.n))
        expected = pgemm(problem.format, a, b)
        cycles: dict[str, int] = {}
        for name, told in ways(problem).items():
            assert np.array_equal(driver.pgemm(problem.format, a, b, **told), expected)
            cycles[name] = driver.counts["cycles"]
            totals[name] += cycles[name]
        for name in WAYS:
            ratios[name].append(float(np.log(cycles[name] / cycles[WAYS[0]])))
    means = {name: float(np.exp(np.mean(ratios[name]))) for name in WAYS}
    rows = [f"| {name} | {totals[name]:,} | {means[name]:.2f} |" for name in WAYS]
    print("\n".join(rows))
    assert totals[WAYS[0]] < min(totals[name] for name in WAYS[1:])
    assert min(means.values()) == means[WAYS[0]] == 1
    if SIZE == "long":
        assert "\n".join(rows) in page("gta-schedules.md").read_text()
