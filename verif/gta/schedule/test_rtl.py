"""Cycles of products of matrices and of vectors on the RTL are the model's, without deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tilewright.errors import UserError
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_cycles import array_cycles, chain_cycles
from tilewright.sim.gta.array_job import ArrayJob, layouts
from tilewright.sim.gta.nine_workloads import WORKLOADS, reduced
from tilewright.sim.gta.schedule.cost import PGemm
from tilewright.sim.gta.schedule.evaluate import Evaluated, cut, evaluate, left_over
from tilewright.sim.gta.schedule.explain import schedules
from tilewright.sim.gta.vector.tiling import laid_out
from tilewright.tables.gta import workloads_rtl
from tilewright.tables.gta.workloads_rtl import COLUMNS, MOST, gta_workloads_rtl
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.cluster.float_products import FloatProduct
from tilewright.verif.gta.cluster.products import Product, Region
from tilewright.verif.gta.cluster.random_commands import masks_of
from tilewright.verif.gta.cluster.vector_command import VectorCommand
from tilewright.verif.gta.devices import DEVICES, SHARED
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size, slow_but


def products(job: ArrayJob) -> list[Product]:
    """Returns a product for each segment of a job, in regions stacked one above the other."""
    m, n = (job.n, job.m) if job.dataflow == "is" else (job.m, job.n)
    return [
        Product(
            region=Region(job.rows, job.cols, number, number * job.rows * job.cols, job.cols),
            mode=Operation.OS if job.dataflow == "os" else Operation.WS,
            name=job.format,
            a=np.zeros((m, k), object),
            b=np.zeros((k, n), object),
            lateral=job.lateral,
            overlap=job.overlap,
        )
        for number, k in enumerate(job.segment_sizes)
    ]


def fits(config: GtaConfig, found: Sequence[Product | FloatProduct]) -> bool:
    limits = config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32
    return all(
        words < limit for one in found for words, limit in zip(one.words, limits, strict=True)
    )


def arrange(bench: ClusterBench, job: ArrayJob, found: Sequence[Product | FloatProduct]) -> None:
    masks = masks_of(bench.config, [one.region for one in found])
    used = job.lanes
    spare = [15] * (bench.config.lanes - used)
    bench.arrange(job.cols.bit_length() - 1, masks[:used] + spare)


def float_products(config: GtaConfig, job: ArrayJob) -> list[FloatProduct]:
    """Returns a product for each segment of a job, in succession on one region."""
    return [
        FloatProduct(
            region=Region(job.rows, job.cols, across=job.cols),
            config=config,
            name=job.format,
            a=np.zeros((job.m, k), np.uint64),
            b=np.zeros((k, job.n), np.uint64),
            use_c=bool(number),
            lateral=job.lateral,
            overlap=job.overlap,
        )
        for number, k in enumerate(job.segment_sizes)
    ]


def vector_command(
    config: GtaConfig, job: ArrayJob, results: np.random.Generator
) -> VectorCommand | None:
    """A job as a command; None if it does not fit the memories."""
    rows, cols = job.array
    found = VectorCommand(
        config=config,
        region=Region(job.rows, job.cols, across=job.cols),
        function="dot",
        name=job.format,
        time=-(-job.m // rows) * -(-job.n // cols),
        chain=job.k,
        bases=(0, 0, int(results.integers(2))),
    )
    limits = config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32 - 1
    fit = all(words <= limit for words, limit in zip(found.words, limits, strict=True))
    return found if fit else None


pytestmark = pytest.mark.long

CONFIGS = {
    "shared": SHARED,
    "two lanes": GtaConfig(lanes=2, formats=INTEGERS, vector_bytes=32768),
    "four lanes": GtaConfig(lanes=4, formats=INTEGERS, vector_bytes=32768),
}


def random_job(rng: np.random.Generator, config: GtaConfig) -> ArrayJob:
    """Draws a job with any M, N, K, format, dataflow, layout, segments, direction and overlap."""
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
    """Runs commands of one format and dataflow that are available in time."""
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
    """Runs jobs alone, in segments, and in succession."""
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
    """Runs one job alone, or some in succession, long and short."""
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


# Filled schedules on the RTL of joined lanes: full folds, and what is left over behind them.

CONFIGS_FILLED_ON = {
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


@pytest.mark.parametrize("name", slow_but([], CONFIGS_FILLED_ON, []))
def test_filled(name: str) -> None:
    """Runs both parts as separate commands; their cycles are those of the schedule."""
    config = CONFIGS_FILLED_ON[name]
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


# The nine workloads, reduced, on the RTL.


def settings(config: GtaConfig) -> list[str]:
    """Returns the settings as command-line words."""
    chosen = config.resolved().items()
    return [f"{k}={','.join(v) if isinstance(v, list | tuple) else v}" for k, v in chosen]


@pytest.mark.parametrize("name", WORKLOADS)
def test_reduced_sizes(name: str) -> None:
    """Every p-GEMM has its part of the multiplications, and no size that is larger; halves of none
    would do."""
    whole = WORKLOADS[name]
    small = reduced(whole, MOST)
    each = MOST // len(whole.parts)
    assert 0 < len(small.parts) <= len(whole.parts)
    assert small.format == whole.format
    for _, part in small.parts:
        assert part.limb_products <= each
        assert max(part.m, part.n, part.k) <= 2048
    assert any(
        4 * part.limb_products > each or 4 * max(part.m, part.n, part.k) > 2048
        for _, part in small.parts
    )
    # A workload that is small enough is not changed.
    assert reduced(small, MOST * len(small.parts)).parts == small.parts


@pytest.mark.slow
def test_some_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the int8 workloads on the smallest configuration."""
    monkeypatch.setattr(workloads_rtl, "MOST", 1 << 16)
    told: list[str] = []
    table = gta_workloads_rtl("cmos", told.append, settings=settings(DEVICES["tiny"].config))
    assert told == ["building gta", "RGB", "ALI"]
    assert [row.label for row in table.rows] == ["RGB, int8", "ALI, int8"]
    for row in table.rows:
        found = {name: x or 0.0 for name, x in zip(COLUMNS, row.ours, strict=True)}
        assert found["wrong results"] == 0
        assert found["cycles of jobs"] == found["by the cycle model"]
        assert found["with the array at work"] < found["cycles of jobs"]
        products, lanes = 1e3 * found["thousand limb products"], 2
        assert products <= found["array model"] * 64 * lanes
        assert found["busy, %"] == 100 * products / (found["cycles of jobs"] * 64 * lanes)


@pytest.mark.long
def test_all_workloads() -> None:
    """Runs all workloads and compares the figures with the page."""
    table = gta_workloads_rtl("cmos")
    assert [row.label.split(",")[0] for row in table.rows] == list(WORKLOADS)
    text = Path(page("gta-applications.md")).read_text()
    for row in table.rows:
        found = dict(zip(COLUMNS, row.ours, strict=True))
        assert found["wrong results"] == 0
        assert found["cycles of jobs"] == found["by the cycle model"]
        assert f"| {row.label} | {' | '.join(row.cells(row.ours))} |" in text


@pytest.mark.parametrize(
    ("target", "only", "message"),
    [
        ("ice40", "", "gta-workloads-rtl is measured in simulation: no --target, not 'ice40'"),
        ("cmos", "PCB", "--only must be part of one of BNM, RGB, FFE, MD, PCA, ALT, ALI, FFL, NeRF "
         "whose format the configuration has, not 'PCB'"),
    ],
)  # fmt: skip
def test_refusals(target: str, only: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        gta_workloads_rtl(target, only=only)
    assert str(refused.value) == message
