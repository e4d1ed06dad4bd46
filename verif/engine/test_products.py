"""Products of any size as jobs: what they leave is the whole product's, however it is cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.sim.engine.cycles.machine import run_job
from tilewright.sim.engine.driver import Driver
from tilewright.sim.engine.job import product
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.engine.products import LONGEST, plan_product
from tilewright.sim.timing.memories import FLAT, HBM, MemoryModel

pytestmark = pytest.mark.quick

SMALL_PAGES = replace(HBM, page_bytes=256)
SEMIRINGS = Simd2EngineConfig(tile=4, ops=("mma", "minplus"))
MODES = M3xuEngineConfig(rows=4, cols=4, depth=4, modes=("fp16", "fp32c"), data_bits=128)


@pytest.mark.parametrize(
    ("config", "operation", "use_c", "memory"),
    [
        (SEMIRINGS, "minplus", True, FLAT),
        (SEMIRINGS, "mma", False, SMALL_PAGES),
        (MODES, "fp16", True, SMALL_PAGES),
        (MODES, "fp32c", False, FLAT),
    ],
)
def test_parts_give_the_whole_product(
    config: EngineConfig, operation: str, use_c: bool, memory: MemoryModel
) -> None:
    """A product of 2 x 2 x 2 parts, odd ones among them, on the model, against one chain."""
    rng, shape = np.random.default_rng(1), (137, 150, 131)
    found = config.unit.operations[operation]
    plan = plan_product(config, operation, shape, use_c=use_c, memory=memory, longest=128)
    assert len(plan.jobs) == 2 * 2 * 2
    assert all(max(job.m, job.n, job.k) <= 128 for job in plan.jobs)
    words = {
        name: rng.integers(0, 1 << 14, (matrix.rows, matrix.cols)).astype(np.uint64)
        for name, matrix in plan.matrices.items()
    }
    driver = Driver(EngineModel(config, plan.end))
    for name, content in words.items():
        driver.load_words(plan.matrices[name], content)
    for job in plan.jobs:
        driver.submit(job)
    expected = product(config, found, words["a"], words["b"], words["d"] if use_c else None)
    np.testing.assert_array_equal(driver.store_words(plan.matrices["d"]), expected)
    for name in "ab":
        np.testing.assert_array_equal(driver.store_words(plan.matrices[name]), words[name])


def test_one_job_where_one_is_enough() -> None:
    plan = plan_product(SEMIRINGS, "mma", (LONGEST, 5, LONGEST), use_c=True)
    (job,) = plan.jobs
    assert (job.m, job.k, job.n) == (LONGEST, 5, LONGEST)
    assert job.base["c"] == job.base["d"]
    # Five fp16 numbers are two beats; the next matrix begins where a burst may.
    assert job.base["b"] == LONGEST * 16 + 16
    more = plan_product(SEMIRINGS, "mma", (100_000, 1_000, LONGEST + 1), use_c=False)
    assert [(job.m, job.n) for job in more.jobs] == [(50_000, 32_768)] * 4
    assert not any(job.use_c for job in more.jobs)


def test_rows_a_page_apart() -> None:
    """Pads rows of whole pages to a page, others to whole accesses; the matrices do not overlap."""
    plan = plan_product(SEMIRINGS, "mma", (64, 2047, 17), use_c=False, memory=HBM)
    strides = {name: matrix.stride for name, matrix in plan.matrices.items()}
    assert strides == {"a": 4096 + 2048, "b": 64, "d": 128}
    ends = [*(matrix.address for matrix in plan.matrices.values()), plan.end][1:]
    for matrix, end in zip(plan.matrices.values(), ends, strict=True):
        assert matrix.address + matrix.rows * matrix.stride == end


@pytest.mark.parametrize("config", [SEMIRINGS, Simd2EngineConfig(tile=4, format="int16")])
@pytest.mark.parametrize("rows", [1, 13, 257])
def test_matrices_begin_where_a_burst_may(config: Simd2EngineConfig, rows: int) -> None:
    """Matrices start at a multiple of a burst in a flat memory, so a row whose size is a power of
    two takes one burst."""
    plan = plan_product(config, "mma", (rows, 5, 3), use_c=False)
    burst = config.burst_beats * config.beat_bytes
    assert [matrix.address % burst for matrix in plan.matrices.values()] == [0, 0, 0]


def test_a_row_more_costs_no_more_than_a_row() -> None:
    """257 rows of int16 once took half as long again as 256."""
    config = Simd2EngineConfig(
        tile=4, format="int16", accumulator="int64", ops=("mma",), block_rows=1, block_cols=1,
        block_depth=1,
    )  # fmt: skip
    cycles = []
    for rows in (256, 257, 260):
        (job,) = plan_product(config, "mma", (rows, 4, 4), use_c=False).jobs
        cycles.append(run_job(config, job).cycles)
    assert cycles == [1197, 1201, 1216]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 0, 4), r"^`shape` must be of sizes of at least 1, not \(4, 0, 4\)$"),
        ((1 << 19, 1 << 19, 4), r"^the matrices take .* bytes; addresses of 32 bits reach 4,29"),
    ],
)
def test_what_has_no_place_is_refused(shape: tuple[int, int, int], message: str) -> None:
    config = Simd2EngineConfig(addr_bits=32)
    with pytest.raises(ValueError, match=message):
        plan_product(config, "mma", shape, use_c=False)
