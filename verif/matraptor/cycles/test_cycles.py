"""The cycle model of MatRaptor: cycle for cycle the RTL on a flat memory, and its own promises."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.hw.spec.jobs.matraptor import COUNTERS
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.bandwidth import bandwidth
from tilewright.sim.matraptor.cycles.outer import simulate_outer
from tilewright.sim.matraptor.cycles.rows import Cycles, QueueOverflow, simulate
from tilewright.sim.matraptor.cycles.traffic import bytes_read
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.outer import by_columns
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import (
    CONFIGS,
    INPUTS,
    OUTER_INPUTS,
    Counters,
    Operands,
    compare,
    config_of,
    device_of,
    power_law,
    square,
    uniform,
)
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import cases, draw_until, slow_but
from tilewright.verif.matraptor.jobs import fits

pytestmark = pytest.mark.slow


def real(name: str) -> sp.csr_array:
    return sp.csr_array(scipy.io.mmread(data_file(f"matrices/{name}.mtx")))


@cache
def device(name: str) -> NativeAccelerator[MatRaptorConfig]:
    return device_of(config_of(name))


def check(name: str, operands: Operands, latency: int) -> None:
    """Checks that every counter, ``cycles`` included, equals the RTL's."""
    counts = compare(device(name), operands, latency)
    assert {n: model for n, (_, model) in counts.items()} == {n: r for n, (r, _) in counts.items()}
    assert counts["operations"][0] > 0


every_config = pytest.mark.parametrize("name", slow_but(["2x2"], CONFIGS, []))


@every_config
@pytest.mark.parametrize("shape", INPUTS)
def test_all_counters_are_those_of_the_rtl(name: str, shape: str) -> None:
    check(name, INPUTS[shape](), latency=20)


@needs_data
@every_config
@pytest.mark.parametrize("matrix", ["karate", "west0067"])
def test_all_counters_of_real_matrices(name: str, matrix: str) -> None:
    check(name, square(real(matrix)), latency=20)


@every_config
@pytest.mark.parametrize("latency", slow_but([], [1, 7, 100, 250], [1, 250]))
def test_all_counters_at_other_latencies(name: str, latency: int) -> None:
    for shape in ("medium", "power_law", "banded", "empty_rows", "dense_column", "rectangular"):
        check(name, INPUTS[shape](), latency)


@every_config
def test_all_counters_when_lanes_fight(name: str) -> None:
    """Short jobs of any shape, two of three with a range of columns; lanes may have no rows."""
    rng = np.random.default_rng(17)
    for seed in range(cases(90)):
        rows, inner, cols = (int(size) for size in rng.integers(1, 60, 3))
        a = uniform(rows, inner, float(rng.choice([0.02, 0.1, 0.4])), seed)
        b = uniform(inner, cols, float(rng.choice([0.02, 0.1, 0.4, 0.9])), seed + 1000)
        low = int(rng.integers(0, cols))
        end = int(rng.integers(low + 1, cols + 1)) if seed % 3 == 1 else low + 1
        part = (low, end) if seed % 3 and end - low < cols else None
        found = compare(device(name), (a, b), int(rng.integers(1, 60)), columns=part)
        assert all(real == model for real, model in found.values()), (seed, found)


def merged(columns: list[list[int]], queues: int) -> tuple[int, int, list[int]]:
    """Merges lists by the paper's rule: the entries moved, the longest queue, and the row."""
    filled, steps, longest = list[tuple[int, list[int]]](), 0, 0
    for number, row in enumerate(r for r in columns if r):
        if number >= queues - 1:
            at = min(range(len(filled)), key=lambda q: (len(filled[q][1]), filled[q][0]))
            row = sorted({*row, *filled.pop(at)[1]})
            steps += len(row)
        filled.append((number, row))
        longest = max(longest, len(row))
    return steps, longest, sorted({c for _, row in filled for c in row})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_counted(name: str, seed: int) -> None:
    """Products, results and merges, counted here on lists; bytes, from the format."""
    config = config_of(name)
    a, b = uniform(37, 29, 0.3, seed), uniform(29, 41, 0.2, seed + 50)
    found = simulate(config, a, b)
    rows = [[b.indices[b.indptr[k] : b.indptr[k + 1]].tolist() for k in a.indices[low:high]]
            for low, high in zip(a.indptr, a.indptr[1:], strict=False)]  # fmt: skip
    each = [merged(row, config.queues) for row in rows]
    assert found.merge_steps == sum(steps for steps, _, _ in each)
    assert found.results == sum(len(columns) for _, _, columns in each)
    products = [sum(len(part) for part in row) for row in rows]
    assert found.operations == sum(products) == found.bound.operations
    lanes = [sum(products[lane :: config.lanes]) for lane in range(config.lanes)]
    assert (found.lane_busy_max, found.lane_busy_min) == (max(lanes), min(lanes))
    assert found.bytes_b_pairs == a.nnz * config.beat_bytes
    assert found.bytes_c_pairs == 8 * a.shape[0]
    assert found.bytes_c_entries == config.layout.entry_bytes * found.results
    parts = ("a_pairs", "a_entries", "b_pairs", "b_entries")
    assert found.bytes_read == sum(getattr(found, f"bytes_{part}") for part in parts)
    assert found.bytes_written == found.bytes_c_pairs + found.bytes_c_entries


def test_an_overflow_names_the_row() -> None:
    config = MatRaptorConfig(lanes=2, channels=2, queues=3, queue_depth=64)
    a = uniform(40, 40, 0.02, 7).tolil()
    a[23, :10] = 1
    with pytest.raises(QueueOverflow, match=r"^row 23 must fit queues of 64 entries$") as error:
        simulate(config, a.tocsr(), uniform(40, 200, 0.1, 8))
    assert error.value.row == 23


MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
def test_the_same_again_and_never_under_the_bound(memory: MemoryModel) -> None:
    for a, b in (square(uniform(300, 300, 0.02)), square(power_law(300))):
        found = simulate(config_of("8x8"), a, b, memory=memory)
        assert found == simulate(config_of("8x8"), a, b, memory=memory)
        assert found.ratio >= 1
        assert found.bound.cycles_once <= found.bound.cycles
        assert 0 < found.bandwidth_utilisation <= 1
        assert 0 < found.multiplier_utilisation <= 1
        assert found.load_imbalance >= 1


def test_the_clock_changes_the_memory_only() -> None:
    a, b = square(uniform(300, 300, 0.02))
    fast, slow = (simulate(config_of("8x8"), a, b, memory=HBM, gigahertz=f) for f in (2.0, 1.0))
    assert fast.operations == slow.operations
    assert slow.cycles < fast.cycles
    assert slow.microseconds > fast.microseconds


@pytest.mark.parametrize("cache_bytes", [0, 4096])
def test_requests_are_what_memory_moved(cache_bytes: int) -> None:
    """In each channel, in cycles that never fall; no other figure changes."""
    config, operands = replace(config_of("8x8"), cache_bytes=cache_bytes), square(power_law(300))
    found = simulate(config, *operands, memory=HBM_32, log=True)
    assert replace(found, requests=None) == simulate(config, *operands, memory=HBM_32)
    assert found.requests is not None
    cycle, address, write = found.requests.accesses(32)
    assert 0 <= cycle[0] <= cycle[-1] < found.cycles
    assert (np.diff(cycle) >= 0).all()
    channel = address // config.interleave % config.channels
    for way, moved in enumerate((found.memory_read, found.memory_written)):
        counts = np.bincount(channel[write == way], minlength=config.channels)
        assert (counts * 32).tolist() == list(moved)


def test_operands_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"^`b` must have 4 rows, not 5$"):
        simulate(MatRaptorConfig(), uniform(3, 4, 0.5), uniform(5, 3, 0.5))
    config = MatRaptorConfig(interleave=2048)
    message = r"^`page_bytes` must be at least `interleave`, 2048, not 1024$"
    with pytest.raises(ValueError, match=message):
        simulate(config, *square(uniform(4, 4, 1.0)), memory=replace(HBM, page_bytes=1024))


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (17, 17)])
def test_nothing_to_do(memory: MemoryModel, shape: tuple[int, int]) -> None:
    found = simulate(
        MatRaptorConfig(), sp.csr_array(shape), sp.csr_array(shape[::-1]), memory=memory
    )
    assert found.operations == found.results == found.busy_cycles == found.stalls == 0
    assert found.bytes_written == 8 * shape[0]


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_bandwidth_of_csr_and_c2sr(lanes: int) -> None:
    """The paper's figure of bandwidth utilisation."""
    m = uniform(3000, 3000, 0.005)
    csr, c2sr = (bandwidth(m, lanes, layout) for layout in ("csr", "c2sr"))
    assert c2sr.fraction >= 0.9
    assert 0 < csr.fraction < 0.5
    assert c2sr.fraction <= 1
    assert c2sr.peak == 16 * lanes


def test_what_bandwidth_refuses() -> None:
    m = uniform(10, 10, 0.5)
    with pytest.raises(ValueError, match=r'^`layout` must be "csr" or "c2sr", not \'coo\'$'):
        bandwidth(m, 2, "coo")
    with pytest.raises(ValueError, match=r"^`memory` must have banks$"):
        bandwidth(m, 2, "csr", memory=FLAT)
    with pytest.raises(ValueError, match=r"^`matrix` must have entries$"):
        bandwidth(sp.csr_array((3, 3)), 2, "csr")


# The cycle model of MatRaptor's outer products: cycle for cycle the RTL on a flat memory; what the
# device model and the command make of it.

"""The model of this mode is compiled apart, which takes half a minute."""

MORE_CONFIGS: dict[str, dict[str, Any]] = {
    "narrow": {"lanes": 4, "channels": 4, "queues": 3, "queue_depth": 64, "outstanding": 2,
               "adder_stages": 2, "multiplier_stages": 2, "interleave": 512},
    "1x4": {"lanes": 1, "channels": 4, "queues": 9, "queue_depth": 256, "data_bits": 256,
            "outstanding": 4},
    "6x3": {"lanes": 6, "channels": 3, "queues": 6, "queue_depth": 300, "value": "fp64",
            "interleave": 256, "queue_sets": 3, "row_queue": 4, "beat_queue": 4},
    "fp16": {"lanes": 2, "channels": 6, "queues": 16, "queue_depth": 100, "value": "fp16",
             "index_bits": 16, "data_bits": 64, "outstanding": 8},
}  # fmt: skip
"""Few banks and the shortest queues; beats of four entries; lanes that are no power of two and
share channels; several channels a lane, all sixteen banks."""


@cache
def device_outer(name: str) -> NativeAccelerator[MatRaptorConfig]:
    if name in MORE_CONFIGS:
        return device_of(MatRaptorConfig(**MORE_CONFIGS[name], outer_product=True))
    return device_of(config_of(name, outer=True))


def differences(counts: Counters) -> dict[str, tuple[int, int]]:
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def simulated(config: MatRaptorConfig, operands: Operands, **how: Any) -> Cycles:
    a, b = (from_csr(m, config.layout) for m in operands)
    return simulate_outer(config, by_columns(config, a), b, a.shape[0], **how)


every_config_outer = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["2x2"]))


@every_config_outer
@pytest.mark.parametrize("shape", OUTER_INPUTS)
def test_outer_all_counters_are_those_of_the_rtl(name: str, shape: str) -> None:
    for latency in (1, 20, 100):
        counts = compare(device_outer(name), OUTER_INPUTS[shape](), latency, mode="outer")
        assert not differences(counts), latency
        assert counts["operations"][0] > 0 or shape.startswith("short")


@pytest.mark.parametrize("name", slow_but([], [*CONFIGS, *MORE_CONFIGS], []))
def test_all_counters_of_random_jobs(name: str) -> None:
    """Short jobs of any shape that fits, and between them some by rows."""
    rtl = device_outer(name)
    rng = np.random.default_rng(23)

    def draw() -> Operands | None:
        rows, inner, columns = (int(size) for size in rng.integers(1, 90, 3))
        densities = rng.choice([0, 0.02, 0.1, 0.4, 1.0], 2, p=[0.05, 0.3, 0.3, 0.25, 0.1])
        seed = int(rng.integers(1 << 20))
        a, b = uniform(rows, inner, densities[0], seed), uniform(inner, columns, densities[1], seed)
        return (a, b) if fits(rtl.config, rows, columns) else None

    for number in range(40):
        counts = compare(rtl, draw_until(draw), int(rng.integers(1, 150)), mode="outer")
        assert not differences(counts), number
    for shape in ("short_1", "short_3"):
        assert not differences(compare(rtl, INPUTS[shape](), latency=20)), shape


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CONFIGS)
def test_outer_what_is_counted(name: str, seed: int) -> None:
    """Products and results, by SciPy; bytes, from the format."""
    config = config_of(name, outer=True)
    a, b = uniform(37, 29, 0.3, seed), uniform(29, 41, 0.2, seed + 50)
    found = simulated(config, (a, b))
    ones = [sp.csr_array((np.ones(m.nnz), m.indices, m.indptr), m.shape) for m in (a, b)]
    c = ones[0] @ ones[1]
    products = [int(c[lane :: config.lanes].sum()) for lane in range(config.lanes)]
    assert found.operations == sum(products) == found.bound.operations
    assert (found.lane_busy_max, found.lane_busy_min) == (max(products), min(products))
    assert (found.results, found.merge_steps) == (c.nnz, 0)
    assert found.bytes_c_pairs == 8 * a.shape[0]
    assert found.bytes_c_entries == config.layout.entry_bytes * c.nnz
    assert found.bytes_written == found.bytes_c_pairs + found.bytes_c_entries
    stored, right = by_columns(config, from_csr(a, config.layout)), from_csr(b, config.layout)
    for counter, expected in bytes_read(config, stored, right, a.shape[0]).items():
        assert getattr(found, counter) == expected, counter


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_sums_of_one_element_wait_for_each_other(stages: int) -> None:
    """A row times a column: each product needs the sum before it; a row times a matrix does not."""
    config = MatRaptorConfig(lanes=1, channels=1, adder_stages=stages, outer_product=True)
    row, column = sp.csr_array(np.ones((1, 500))), sp.csr_array(np.ones((500, 1)))
    alone = simulated(config, (row, column))
    assert alone.results == 1
    span = alone.busy_cycles + alone.stalls
    # Rows of B with a single entry come at most every three cycles and a little.
    assert (stages + 2) * 490 < span < max(stages + 2, 3.4) * 500 + 100
    many = simulated(config, (row, sp.csr_array(np.ones((500, 16)))))
    assert many.busy_cycles == 500 * 16
    assert many.stalls < 500 * 16 / 20


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
def test_outer_same_again_and_never_under_the_bound(memory: MemoryModel) -> None:
    for name in ("2x2", "8x8"):
        config = config_of(name, outer=True)
        for operands in (square(uniform(60, 60, 0.3)), OUTER_INPUTS["few_columns"]()):
            found = simulated(config, operands, memory=memory)
            assert found == simulated(config, operands, memory=memory)
            assert found.ratio >= 1
            assert found.bound.cycles_once <= found.bound.cycles


def test_outer_operands_that_do_not_fit() -> None:
    config = MatRaptorConfig(lanes=2, channels=2, queues=3, queue_depth=64, outer_product=True)
    with pytest.raises(QueueOverflow, match=r"^row 8 must fit queues of 64 entries$") as error:
        # 16 lines for each row, four rows in each lane.
        simulated(config, (uniform(20, 5, 0.5), uniform(5, 64, 0.5)))
    assert error.value.row == 8
    with pytest.raises(ValueError, match=r"^`b` must have at most 64 columns"):
        simulated(config, (uniform(20, 5, 0.5), uniform(5, 65, 0.5)))
    for rows, inner, columns in ((0, 3, 2), (3, 0, 2), (3, 2, 0)):
        operands = sp.csr_array((rows, inner)), sp.csr_array((inner, columns))
        message = f"^the product must have sizes of at least 1, not {rows} x {inner} x {columns}$"
        with pytest.raises(ValueError, match=message):
            simulated(config, operands)


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
def test_outer_nothing_to_do(memory: MemoryModel) -> None:
    for shape in ((1, 1), (1, 40), (40, 1), (17, 17)):
        operands = sp.csr_array(shape), sp.csr_array(shape[::-1])
        found = simulated(config_of("2x6", outer=True), operands, memory=memory)
        assert found.operations == found.results == found.busy_cycles == found.stalls == 0
        assert found.bytes_written == 8 * shape[0]


def test_the_device_counts_what_the_model_finds() -> None:
    """The device's counters equal the model's counts for each tile."""
    config = MatRaptorConfig(
        lanes=2, channels=2, queues=3, queue_depth=128, outstanding=16, outer_product=True
    )
    a, b = (from_csr(m, config.layout) for m in square(uniform(70, 70, 0.2)))
    device, plain = MatRaptorModel(config, channel=HBM, gigahertz=1.5), MatRaptorModel(config)
    timed, untimed = SparseDriver(device), SparseDriver(plain)
    c = timed.multiply(a, b, mode="outer")
    assert c.same_as(untimed.multiply(a, b, mode="outer"))
    assert len(timed.jobs) == timed.tiles(a, b).count > 1
    for job, other in zip(timed.jobs, untimed.jobs, strict=True):
        known = {name: count for name, count in other.counts.items() if count}
        assert known.items() <= job.counts.items()
        assert min(job.counts[name] for name in ("cycles", "busy_cycles")) > 0
    for job, found in zip(timed.jobs, device.cycles, strict=True):
        assert {name: getattr(found, name) for name in COUNTERS} == job.counts
    assert plain.cycles == []


@needs_data
def test_spgemm_with_the_cycle_model(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, capsys)
    json, cycles = tmp_path / "report.json", {}
    matrix = data_file("matrices/karate.mtx")
    for memory in MEMORIES:
        arguments = ("--mode", "outer", "--backend", "cycles", "--memory", memory.name)
        assert run("spgemm", matrix, *arguments, "--lanes", 2, "--json", json) == 0
        assert f"by outer products, cycles, memory {memory.name}" in run.out
        found = run.report()
        assert (found["mode"], found["backend"]) == ("outer", "cycles")
        counters = found["counters"]
        cycles[memory.name] = counters["cycles"]
        assert counters["operations"] == 1212
        assert counters["cycles"] > found["bound_cycles"] >= counters["operations"] / 2
        assert found["ratio_to_bound"] == pytest.approx(counters["cycles"] / found["bound_cycles"])
        assert found["microseconds"] == pytest.approx(counters["cycles"] / 2000)
    assert cycles["flat"] < cycles["hbm"]
