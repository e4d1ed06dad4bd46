"""The cycle model of MatRaptor: against the RTL's cycles and counters, and its own promises."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.hw.emit import emit
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.matraptor_registers import COUNTERS
from tilewright.sim.c2sr import from_csr
from tilewright.sim.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.sim.matraptor_cycles import QueueOverflow, simulate
from tilewright.sim.matraptor_cycles_bandwidth import bandwidth
from tilewright.sim.matraptor_cycles_bound import bound
from tilewright.sim.matraptor_driver import SparseDriver
from tilewright.verif.native_axi import AxiBehaviour, NativeAccelerator

CONFIGS: dict[str, dict[str, Any]] = {
    "1x1": {"lanes": 1, "channels": 1, "queues": 4, "queue_depth": 2048},
    "2x2": {"lanes": 2, "channels": 2, "queues": 5, "outstanding": 16},
    "4x2": {"lanes": 4, "channels": 2, "queues": 4, "data_bits": 64, "adder_stages": 1},
    "2x6": {"lanes": 2, "channels": 6, "queues": 3, "interleave": 256, "multiplier_stages": 1},
    "8x8": {"lanes": 8, "channels": 8},
}
QUICK_CONFIG = "2x2"
EXACT = tuple(
    name for name in COUNTERS if name not in ("cycles", "busy_cycles", "stalls", "conflicts")
)
TOLERANCE = 0.05


def config_of(name: str) -> MatRaptorConfig:
    return MatRaptorConfig(**CONFIGS[name])


def uniform(rows: int, cols: int, density: float, seed: int = 1) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.random_array((rows, cols), density=density, format="csr", rng=rng)


def power_law(rows: int, seed: int = 2) -> sp.csr_array:
    """Row lengths and columns as in a graph with few hubs."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.zipf(1.8, rows), rows // 2)
    columns = np.minimum(rng.zipf(1.3, lengths.sum()) - 1, rows - 1)
    data = np.ones(lengths.sum())
    result = sp.coo_array((data, (np.repeat(np.arange(rows), lengths), columns)), (rows, rows))
    return result.tocsr()


def banded(rows: int, width: int) -> sp.csr_array:
    offsets = range(-width, width + 1)
    return sp.diags_array([np.ones(rows - abs(k)) for k in offsets], offsets=list(offsets)).tocsr()


def dense_row(size: int) -> sp.csr_array:
    m = sp.eye_array(size, format="lil")
    m[size // 3, :] = 1
    return m.tocsr()


def empty_rows(size: int) -> sp.csr_array:
    """Nine rows of ten have nothing."""
    m = uniform(size, size, 0.05, 3).tolil()
    m[np.arange(size) % 10 != 4, :] = 0
    return m.tocsr()


def real(name: str) -> sp.csr_array:
    if not (directory := os.environ.get("TILEWRIGHT_DATA")):
        pytest.skip("TILEWRIGHT_DATA does not say where the matrices are")
    return sp.csr_array(scipy.io.mmread(Path(directory) / "matrices" / f"{name}.mtx"))


Operands = tuple[sp.csr_array, sp.csr_array]


def square(m: sp.csr_array) -> Operands:
    return m, m


INPUTS: dict[str, Callable[[], Operands]] = {
    "sparse": lambda: square(uniform(300, 300, 0.005)),
    "medium": lambda: square(uniform(200, 200, 0.03)),
    "dense": lambda: square(uniform(40, 40, 0.6)),
    "full": lambda: square(uniform(16, 16, 1.0)),
    "power_law": lambda: square(power_law(200)),
    "diagonal": lambda: square(banded(400, 0)),
    "banded": lambda: square(banded(150, 3)),
    "dense_row": lambda: square(dense_row(150)),
    "dense_column": lambda: square(dense_row(150).T.tocsr()),
    "empty_rows": lambda: square(empty_rows(400)),
    "rectangular": lambda: (uniform(30, 500, 0.05), uniform(500, 60, 0.1)),
    "one_row": lambda: (uniform(1, 300, 0.5), uniform(300, 300, 0.02)),
    "karate": lambda: square(real("karate")),
    "west0067": lambda: square(real("west0067")),
}


@lru_cache(maxsize=1)
def device(name: str) -> NativeAccelerator[MatRaptorConfig]:
    config = config_of(name)
    return NativeAccelerator(emit("matraptor", config), config, memory_bytes=1 << 26)


def rtl_counts(name: str, a: sp.csr_array, b: sp.csr_array, latency: int) -> dict[str, int]:
    rtl = device(name)
    rtl.behave(AxiBehaviour(latency=(latency, latency)))
    driver = SparseDriver(rtl)
    layout = rtl.config.layout
    driver.multiply(from_csr(a, layout), from_csr(b, layout))
    assert [job.error for job in driver.jobs] == ["none"]
    return driver.jobs[0].counts


def compare(
    name: str, a: sp.csr_array, b: sp.csr_array, latency: int
) -> dict[str, tuple[int, int]]:
    """Counters of the RTL and of the model."""
    rtl = rtl_counts(name, a, b, latency)
    model = simulate(config_of(name), a, b, memory=replace(FLAT, latency=latency))
    return {counter: (rtl[counter], getattr(model, counter)) for counter in COUNTERS}


@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize(
    "name", [n if n == QUICK_CONFIG else pytest.param(n, marks=pytest.mark.slow) for n in CONFIGS]
)
def test_cycles_and_counters_are_those_of_the_rtl(name: str, shape: str) -> None:
    counts = compare(name, *INPUTS[shape](), latency=20)
    assert {n: counts[n][0] for n in EXACT} == {n: counts[n][1] for n in EXACT}
    rtl, model = counts["cycles"]
    assert model == pytest.approx(rtl, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("latency", [1, 100])
def test_cycles_at_other_latencies(latency: int) -> None:
    for shape in ("medium", "power_law", "dense_column", "rectangular"):
        counts = compare(QUICK_CONFIG, *INPUTS[shape](), latency=latency)
        rtl, model = counts["cycles"]
        assert model == pytest.approx(rtl, rel=TOLERANCE), shape


def merged(columns: list[list[int]], queues: int) -> tuple[int, int, list[int]]:
    """By the rule of the paper on lists: entries moved in merges, longest queue, the row."""
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
    assert found.bytes_c_entries == 8 * found.results
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


def test_a_bound_by_hand() -> None:
    """Two entries of A, one in each row; B's rows have three entries and one."""
    config = MatRaptorConfig(lanes=1, channels=1)
    a = sp.csr_array(np.array([[1.0, 0], [0, 1]]))
    b = sp.csr_array(np.array([[1.0, 1, 1], [0, 0, 1]]))
    found = simulate(config, a, b, memory=HBM).bound
    assert found == bound(config, a, b, HBM, 2.0)
    # A: two pairs, two entries; C: two pairs, four entries; B: two pairs, two rows in one block.
    assert found.bytes_per_use == 16 + 16 + 16 + 32 + 2 * 64 + 2 * 64
    assert found.bytes_once == 16 + 16 + 16 + 32 + 16 + 32
    assert found.operations == 4
    # 8 bytes a cycle at 2 GHz.
    assert found.cycles == found.bytes_per_use / 8


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


@pytest.mark.slow
def test_gnutella_is_near_its_bound() -> None:
    """The paper's set-up: 8 lanes at 2 GHz, 8 channels of 16 GB/s."""
    g = real("p2p-Gnutella31")
    found = simulate(MatRaptorConfig(), g, g, memory=HBM)
    assert found.ratio < 1.25
    assert found.bound.memory_cycles > found.bound.product_cycles


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
