"""Cycles of products of matrices and of vectors on the RTL are the model's, without deviation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_cycles import array_cycles, chain_cycles
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.sim.gta.layouts import layouts
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
    "two lanes": GtaConfig(lanes=2, formats=INTEGERS, vector_bytes=32768),
    "four lanes": GtaConfig(lanes=4, formats=INTEGERS, vector_bytes=32768),
}


def random_job(rng: np.random.Generator, config: GtaConfig) -> ArrayJob:
    """Any M, N, K, format, dataflow, layout, segments, direction and overlap."""
    segments = 1 << int(rng.integers(config.lanes.bit_length()))
    each = 1 << int(rng.integers((config.lanes // segments).bit_length()))
    shapes = layouts(each)
    rows, cols = shapes[rng.integers(len(shapes))]
    m, n, k = (int(rng.integers(1, rng.choice([4, 20, 90]))) for _ in range(3))
    return ArrayJob(
        m=m,
        n=n,
        k=max(k, segments),
        format=str(rng.choice(config.integers or INTEGERS)),
        dataflow=str(rng.choice(["ws", "is", "os"])),
        rows=rows,
        cols=cols,
        segments=segments,
        lateral=bool(rng.integers(2)),
        overlap=bool(rng.random() < 0.7),
    )


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_jobs(name: str) -> None:
    """A job by itself: from when the command is taken to its end, of the longest segment."""
    bench = ClusterBench(CONFIGS[name])
    rng = np.random.default_rng(bench.config.lanes)
    checked = 0
    while checked < by_size(10, 12, 300):
        job = random_job(rng, bench.config)
        found = products(job)
        if not fits(bench.config, found):
            continue
        arrange(bench, job, found)
        taken, ends = bench.run([one.command() for one in found])
        complete = dict(ends)
        cycles = [complete[number] - begin for number, begin in enumerate(taken)]
        assert max(cycles) == array_cycles(bench.config, job), job
        checked += 1


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_chains(name: str) -> None:
    """Commands of one format and dataflow that are there in time."""
    bench = ClusterBench(CONFIGS[name])
    rng = np.random.default_rng(100 + bench.config.lanes)
    checked = 0
    while checked < by_size(10, 15, 100):
        first = replace(random_job(rng, bench.config), segments=1)
        jobs = [first]
        for _ in range(int(rng.integers(1, 5))):
            m, n, k = (int(size) for size in rng.integers(1, 40, 3))
            jobs.append(replace(first, m=m, n=n, k=k, lateral=bool(rng.integers(2))))
        found = [products(job)[0] for job in jobs]
        if not fits(bench.config, found):
            continue
        arrange(bench, first, found[:1])
        taken, ends = bench.run([one.command() for one in found])
        counted = [(1, job) for job in jobs]
        assert ends[-1][1] - taken[0] == chain_cycles(bench.config, counted), jobs
        checked += 1


FLOATS = {
    "shared": SHARED,
    "bf16 alone": GtaConfig(lanes=1, formats=("bf16",), vector_bytes=8192),
    "8 adders": GtaConfig(lanes=2, vector_bytes=32768),
    "64 adders": GtaConfig(
        lanes=4, formats=("int8", "bf16", "fp32"), float_adders=64, vector_bytes=32768
    ),
}


@pytest.mark.parametrize("adders", slow_but([], FLOATS, ["shared"]))
def test_chains_of_floats(adders: str) -> None:
    """Jobs by themselves, in segments, and behind each other."""
    config = FLOATS[adders]
    bench, rng = ClusterBench(config), np.random.default_rng(300 + config.float_adders)
    checked = 0
    while checked < by_size(10, 15, 300):
        drawn = random_job(rng, config)
        segments = int(rng.choice([1, 1, 2, 3]))
        name, k = str(rng.choice(config.floats)), max(drawn.k, segments)
        first = replace(drawn, format=name, dataflow="os", k=k, segments=segments)
        jobs = [first]
        for _ in range(int(rng.integers(3))):
            m, n, k = (int(size) for size in rng.integers(1, 40, 3))
            jobs.append(replace(first, m=m, n=n, k=max(k, segments)))
        found = [one for job in jobs for one in float_products(config, job)]
        if not fits(config, found):
            continue
        arrange(bench, first, found[:1])
        taken, ends = bench.run([one.command() for one in found])
        cycles = chain_cycles(config, [(1, job) for job in jobs])
        assert ends[-1][1] - taken[0] == cycles, jobs
        checked += 1


VECTORS = {**CONFIGS, **FLOATS}


@pytest.mark.parametrize("name", slow_but([], VECTORS, ["shared"]))
def test_chains_of_vectors(name: str) -> None:
    """A job by itself, or some behind each other, long and short."""
    config = VECTORS[name]
    bench, rng = ClusterBench(config), np.random.default_rng(500 + config.lanes)
    checked = 0
    while checked < by_size(10, 20, 300):
        drawn = replace(random_job(rng, config), segments=1, dataflow="simd")
        first = replace(drawn, format=str(rng.choice(config.formats)))
        jobs = []
        for _ in range(int(rng.integers(1, 7))):
            m, n, k = (int(size) for size in rng.integers(1, (40, 60, 8)))
            jobs.append(replace(first, m=m, n=n, k=k))
        found = [vector_command(config, job, rng) for job in jobs]
        commands = [one for one in found if one is not None]
        if len(commands) < len(jobs):
            continue
        spare = [15] * (config.lanes - first.lanes)
        bench.arrange(first.cols.bit_length() - 1, [0] * first.lanes + spare)
        taken, ends = bench.run([one.command() for one in commands])
        cycles = chain_cycles(config, [(1, job) for job in jobs])
        assert ends[-1][1] - taken[0] == cycles, jobs
        checked += 1
