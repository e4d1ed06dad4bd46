"""The cycle model of MatRaptor's outer products: cycle for cycle the RTL on a flat memory; what the
device model and the command make of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.spec.jobs.matraptor import COUNTERS
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.outer import simulate_outer
from tilewright.sim.matraptor.cycles.rows import Cycles, QueueOverflow
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
    square,
    uniform,
)
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import draw_until, slow_but
from tilewright.verif.matraptor.jobs import fits

pytestmark = pytest.mark.slow
"""The model of this mode is compiled apart, which takes half a minute."""

MORE_CONFIGS: dict[str, dict[str, Any]] = {
    "narrow": {"lanes": 4, "channels": 4, "queues": 3, "queue_depth": 64, "outstanding": 2,
               "adder_stages": 2, "multiplier_stages": 2, "interleave": 512},
    "1x4": {"lanes": 1, "channels": 4, "queues": 9, "queue_depth": 256, "data_bits": 256,
            "outstanding": 4},
    "6x3": {"lanes": 6, "channels": 3, "queues": 6, "queue_depth": 300, "value": "fp64",
            "interleave": 256},
    "fp16": {"lanes": 2, "channels": 6, "queues": 16, "queue_depth": 100, "value": "fp16",
             "index_bits": 16, "data_bits": 64, "outstanding": 8},
}  # fmt: skip
"""Few banks and the shortest queues; beats of four entries; lanes that are no power of two and
share channels; several channels a lane, all sixteen banks."""
MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)


@cache
def device(name: str) -> NativeAccelerator[MatRaptorConfig]:
    if name in MORE_CONFIGS:
        return device_of(MatRaptorConfig(**MORE_CONFIGS[name], outer_product=True))
    return device_of(config_of(name, outer=True))


def differences(counts: Counters) -> dict[str, tuple[int, int]]:
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def simulated(config: MatRaptorConfig, operands: Operands, **how: Any) -> Cycles:
    a, b = (from_csr(m, config.layout) for m in operands)
    return simulate_outer(config, by_columns(config, a), b, a.shape[0], **how)


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["2x2"]))


@every_config
@pytest.mark.parametrize("shape", OUTER_INPUTS)
def test_all_counters_are_those_of_the_rtl(name: str, shape: str) -> None:
    for latency in (1, 20, 100):
        counts = compare(device(name), OUTER_INPUTS[shape](), latency, mode="outer")
        assert not differences(counts), latency
        assert counts["operations"][0] > 0 or shape.startswith("short")


@pytest.mark.parametrize("name", slow_but([], [*CONFIGS, *MORE_CONFIGS], ["narrow"]))
def test_all_counters_of_random_jobs(name: str) -> None:
    """Short jobs of any shape that fits, and between them some by rows."""
    rtl = device(name)
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
def test_what_is_counted(name: str, seed: int) -> None:
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
def test_the_same_again_and_never_under_the_bound(memory: MemoryModel) -> None:
    for name in ("2x2", "8x8"):
        config = config_of(name, outer=True)
        for operands in (square(uniform(60, 60, 0.3)), OUTER_INPUTS["few_columns"]()):
            found = simulated(config, operands, memory=memory)
            assert found == simulated(config, operands, memory=memory)
            assert found.ratio >= 1
            assert found.bound.cycles_once <= found.bound.cycles


def test_operands_that_do_not_fit() -> None:
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
def test_nothing_to_do(memory: MemoryModel) -> None:
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
