"""The cycle model of MatRaptor: cycle for cycle the RTL on a flat memory, and its own promises."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.bandwidth import bandwidth
from tilewright.sim.matraptor.cycles.rows import QueueOverflow, simulate
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import (
    CONFIGS,
    INPUTS,
    Operands,
    compare,
    config_of,
    device_of,
    power_law,
    square,
    uniform,
)
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import cases, slow_but

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


every_config = pytest.mark.parametrize("name", slow_but(["2x2"], CONFIGS, ["3x3"]))


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
    """Short jobs of any shape; half of the lanes may have nothing to do."""
    rng = np.random.default_rng(17)
    for seed in range(cases(40)):
        rows, inner, cols = (int(size) for size in rng.integers(1, 60, 3))
        a = uniform(rows, inner, float(rng.choice([0.02, 0.1, 0.4])), seed)
        b = uniform(inner, cols, float(rng.choice([0.02, 0.1, 0.4])), seed + 1000)
        counts = compare(device(name), (a, b), int(rng.integers(1, 60)))
        assert all(real == model for real, model in counts.values()), (seed, counts)


def merged(columns: list[list[int]], queues: int) -> tuple[int, int, list[int]]:
    """Merges lists by the paper's rule; returns the entries moved, the longest queue and the
    row."""
    filled: list[tuple[int, list[int]]] = []
    steps = longest = 0
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
