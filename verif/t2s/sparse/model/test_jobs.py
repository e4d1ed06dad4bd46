"""What jobs with sparse operands count, and which cannot be."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.job import Job, job_at, outermost
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sparse.entries import Entries, entries_of_numbers
from tilewright.sim.t2s.sparse.image import tile_steps
from tilewright.sim.t2s.sparse.operands import laid_out_operands
from tilewright.verif.kit.refusal import refused

from .drivers import NAMES, config_of, driver_of


def test_counts() -> None:
    """Of jobs that are counted by hand."""
    config = config_of("spmv_ciss", data_bits=64)
    plan = config.plan.sparse
    assert plan is not None
    assert (plan.rows.tile, plan.rows.element_extent, plan.element.ring_words) == (16, 4, 1)
    matrix = np.zeros((20, 9))
    matrix[:, 0] = 1.0  # Every row has one entry: of 16 + 4 rows, 4 and 1 an element.
    driver = driver_of(config)
    driver.compute(A=matrix, X=np.ones(9))
    tiles = (2, 3)
    steps = 4 + 1 + prod(tiles)
    assert driver.steps == {"A": steps}
    counts = driver.counts
    assert counts.operations == 5
    words = steps * plan.entries[0].vector_bytes
    assert counts.bytes_read == -(-words // 8) * 8 + prod(tiles) * 4 * 4
    assert counts.bytes_written == 2 * 16 * 4
    assert (counts.cycles, counts.utilisation) == (0, 0.0)


def test_entries_come_again() -> None:
    """In each iteration of the loops around them, here those of j."""
    config = config_of("spmm")
    step = outermost(config.plan.program)["j"].step
    driver, counts = driver_of(config), []
    for columns in (step, 3 * step):
        driver.compute(A=np.ones((4, 4)), B=np.ones((4, columns)))
        counts.append(driver.counts)
    assert counts[1].operations == 3 * counts[0].operations > 0
    assert counts[1].bytes_read == 3 * counts[0].bytes_read


@pytest.mark.parametrize(
    ("operands", "error", "text"),
    [
        ({"A": np.ones((3, 4))}, ValueError, "operands must be A, X; X is missing"),
        (
            {"A": csr_array(np.ones((3, 4))), "X": np.ones(5)},
            ValueError,
            "X must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            {"A": np.ones((3, 4)), "X": coo_array(np.ones((1, 4)))},
            TypeError,
            "X must be dense in this design, not coo_array",
        ),
        ({"A": csr_array(np.ones((3, 4)) * 1j), "X": np.ones(4)}, ValueError,
         "numbers of fp32 must be real, not 1j"),
        (
            {"A": csr_array((0, 4)), "X": np.ones(4)},
            ValueError,
            "bound of i must be 1 or more, not 0",
        ),
        (
            {"A": Entries(shape=(1, 4), places=np.zeros((0, 2), np.int64),
                          words=np.zeros(0, np.uint64)), "X": np.ones(4)},
            TypeError,
            "numbers must be of a sparse or a dense array, not of entries of words",
        ),
    ],
    ids=["missing", "shape", "sparse", "complex", "no rows", "words"],
)  # fmt: skip
def test_refused(operands: dict[str, Any], error: type[Exception], text: str) -> None:
    driver = driver_of(config_of("spmv"))
    with refused(error, text):
        driver.compute(**operands)


def job_of(config: T2sConfig, matrix: Any, base: dict[str, int], device: T2sModel) -> Job:
    """The job of ``spmv`` with images in memory."""
    design, bounds = config.plan, {"i": matrix.shape[0], "k": matrix.shape[1]}
    entries = {"A": entries_of_numbers(matrix, design.word_format("A"), 0)}
    laid = laid_out_operands(design, bounds, entries, config.beat_bytes)
    content = laid.images["A"].content
    if base["A"] + len(content) <= device.memory_bytes:
        device.write_memory(base["A"], content)
    return job_at(config, bounds, base, laid.steps)


def test_behind_the_memory() -> None:
    config = config_of("spmv", largest=2)
    device = T2sModel(config, 4088)
    driver = Driver(device)
    matrix = csr_array(np.ones((4, 4)))
    base = {"A": 0, "X": 2048, "Y": 1024}
    job = job_of(config, matrix, base, device)
    driver.submit(job)
    plan = config.plan.sparse
    assert plan is not None
    size = job.steps["A"] * plan.entries[0].vector_bytes
    last = 4080 - -(-size // 16) * 16
    for first, detail in ((last, None), (last + 16, 4080), (1 << 20, 1 << 20)):
        moved = job_of(config, matrix, base | {"A": first}, device)
        if detail is None:
            driver.submit(moved)
            continue
        with pytest.raises(JobError) as raised:
            driver.submit(moved)
        assert (raised.value.error, raised.value.detail) == ("bus_read", detail)
        assert driver.counts.operations == 0


def test_images_of_another_job() -> None:
    """Registers that say other tiles than the image has: on hardware nothing would be told."""
    config = config_of("spmv", largest=2)
    device = T2sModel(config, 1 << 12)
    job = job_of(config, csr_array(np.ones((4, 4))), {"A": 0, "X": 2048, "Y": 1024}, device)
    driver = Driver(device)
    text = "image of A must have 3 tiles along i, as the register says, not 2"
    with refused(ValueError, text):
        driver.submit(replace(job, trips={**job.trips, "i": 3}))
    with refused(ValueError, "image of A must end with the end of a tile"):
        driver.submit(replace(job, steps={"A": job.steps["A"] - 1}))


def test_too_many_vectors() -> None:
    config = config_of("spmv")
    text = "A must have at most 4294967295 vectors of tokens, not 4294967296"
    with refused(ValueError, text):
        job_at(config, {"i": 1, "k": 1}, {"A": 0, "X": 0, "Y": 0}, {"A": 1 << 32})


def test_no_steps() -> None:
    config = config_of("spmv")
    driver = driver_of(config)
    job = job_at(config, {"i": 1, "k": 1}, {"A": 0, "X": 0, "Y": 0}, {"A": 0})
    with pytest.raises(JobError) as raised:
        driver.submit(job)
    assert raised.value.error == "zero_size"


@pytest.mark.parametrize("name", NAMES)
def test_levels_are_outermost_loops(name: str) -> None:
    """What images take to be the steps of levels is what the program's loops are."""
    plan = config_of(name).plan
    assert plan.sparse is not None
    steps = tile_steps(plan.sparse)
    loops = outermost(plan.program)
    assert steps == {index: loops[index].step for index in steps}
