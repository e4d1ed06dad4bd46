"""Sparse tensors through the driver, on the model: beside SciPy, refusals, what jobs count."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array, csr_array, issparse, random_array
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.job import Job, job_at, outermost
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sparse.entries import Entries, entries_of_numbers
from tilewright.sim.t2s.sparse.image import tile_steps
from tilewright.sim.t2s.sparse.operands import laid_out_operands
from tilewright.verif.kit.refusal import refused
from tilewright.verif.kit.sampling import cases, rng_of

NAMES = ["spmv", "spmv_ciss", "spmm", "spmttkrp", "hadamard", "union"]


def config_of(name: str, largest: int = 4, **changes: Any) -> T2sConfig:
    return T2sConfig(design=f"sparse/{name}", largest=largest, **changes)


def driver_of(config: T2sConfig, memory_bytes: int = 1 << 22) -> Driver:
    return Driver(T2sModel(config, memory_bytes))


def random_operands(
    name: str, rng: np.random.Generator, density: float, numbers: Any
) -> dict[str, Any]:
    """Tensors of any shapes, of SciPy or dense; ``numbers`` makes so many of them."""
    i, j, k, m = (int(one) for one in rng.integers(1, [40, 20, 50, 12]))

    def matrix() -> Any:
        form = rng.choice(["csr", "csc", "coo", "lil", "dense"])
        found = random_array(
            (i, k), density=density, rng=rng, data_sampler=lambda size: numbers(size)
        )
        return found.toarray() if form == "dense" else found.asformat(form)

    if name == "spmm":
        return {"A": matrix(), "B": numbers((k, j))}
    if name == "spmttkrp":
        places = np.argwhere(rng.random((i, k, m)) < density).astype(np.int64)
        values = numbers(len(places))
        values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
        tensor = Tensor(shape=(i, k, m), indices=places, values=values)
        return {"A": tensor, "B": numbers((k, j)), "C": numbers((m, j))}
    sparse = {"A": matrix()} | ({"B": matrix()} if name in ("hadamard", "union") else {})
    return sparse | {"X": numbers(k)}


def by_scipy(name: str, given: dict[str, Any]) -> npt.NDArray[Any]:
    """The result. Dense arrays have no entries where they are 0."""
    if name == "spmttkrp":
        dense = np.zeros(given["A"].shape, given["A"].values.dtype)
        dense[tuple(given["A"].indices.T)] = given["A"].values
        return np.asarray(np.einsum("ikl,kj,lj->ij", dense, given["B"], given["C"]))
    sparse = {n: csr_array(one) for n, one in given.items() if issparse(one) or n in "AB"}
    if name == "spmm":
        return np.asarray(sparse["A"] @ given["B"])
    matrix = sparse["A"]
    if name == "hadamard":
        matrix = matrix.multiply(sparse["B"])
    if name == "union":
        matrix = matrix + sparse["B"]
    return np.asarray(matrix @ given["X"])


def whole(rng: np.random.Generator) -> Any:
    return lambda size: rng.integers(1, 9, size) * rng.choice([-1, 1], size)


def float32_of(rng: np.random.Generator) -> Any:
    return lambda size: np.asarray(rng.normal(size=size)).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(cases(12)))
def test_whole_numbers(name: str, seed: int) -> None:
    """Exact in any order: no tensor, no row, no tile has to have entries."""
    rng = rng_of(seed)
    fmt = str(rng.choice(["int8", "int32", "fp32", "fp16"]))
    config = config_of(name, int(rng.integers(1, 6)), format=fmt, data_bits=64)
    given = random_operands(name, rng, float(rng.choice([0, 0.02, 0.2, 1])), whole(rng))
    driver = driver_of(config)
    assert np.array_equal(driver.compute(**given), by_scipy(name, given))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(cases(8)))
def test_floats(name: str, seed: int) -> None:
    rng = rng_of(seed)
    given = random_operands(name, rng, 0.3, float32_of(rng))
    found = driver_of(config_of(name, int(rng.choice([0, 2, 4])))).compute(**given)
    assert found.dtype == np.float32
    exact: dict[str, Any] = {
        one: tensor if isinstance(tensor, Tensor) else tensor.astype(np.float64)
        for one, tensor in given.items()
    }
    assert np.allclose(found, by_scipy(name, exact), rtol=1e-5, atol=1e-4)


def test_words_are_what_numbers_are() -> None:
    rng = rng_of(2)
    matrix = random_array((30, 41), density=0.2, rng=rng, dtype=np.float32).tocoo()
    b = rng.normal(size=(41, 9)).astype(np.float32)
    driver = driver_of(config_of("spmm"))
    wanted = driver.compute(A=matrix, B=b).view(np.uint32)
    words = coo_array((matrix.data.view(np.uint32), matrix.coords), shape=matrix.shape)
    for given in (words, words.toarray(), words.tocsr()):
        found = driver.run_words(A=given, B=b.view(np.uint32))
        assert np.array_equal(found, wanted)


def test_stored_zeros_are_entries() -> None:
    """As SciPy has it; what a dense array has of zeros is not stored."""
    matrix = coo_array(([0.0, 2.0, -0.0], ([0, 1, 2], [0, 1, 0])), shape=(3, 2))
    x = np.array([np.inf, 3.0])
    driver = driver_of(config_of("spmv"))
    assert np.array_equal(driver.compute(A=matrix, X=x), matrix.tocsr() @ x, equal_nan=True)
    assert np.array_equal(driver.compute(A=matrix.toarray(), X=x), [0, 6, 0])


def test_entries_of_one_place_are_added() -> None:
    twice = coo_array(([1, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    driver = driver_of(config_of("spmv", format="int8"))
    assert driver.compute(A=twice, X=np.array([5, 7])).tolist() == [21, 15]
    with refused(ValueError, "words must be of a place each, not several of (0, 1)"):
        driver.run_words(A=twice, X=np.array([5, 7]))


MAPPING = """
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii, kk = indices("i k ii iii kk")
A, X = tensor("A", "{format}", i, k, sparse="ciss"), tensor("X", "{format}", k)
Y = compute("Y", "{format}", i, sum_over=k, semiring="{semiring}")[A[i, k] * X[k]]
Y.tile(i, (iii, 3), (ii, 2)).tile(k, (kk, 5))
Y.order(i, k, iii, ii, kk).unroll(ii)
"""


@pytest.mark.parametrize("format", ["fp32", "int16"])
@pytest.mark.parametrize(
    ("semiring", "pad"), [("minplus", np.inf), ("maxplus", -np.inf), ("minmax", np.inf)]
)
def test_pads_are_not_stored(semiring: str, pad: float, format: str, tmp_path: Any) -> None:
    """Of another semiring what a dense array does not store is its pad: zeros are entries."""
    file = tmp_path / "mine.py"
    file.write_text(MAPPING.format(format=format, semiring=semiring))
    rng = rng_of(6)
    numbers = rng.integers(-9, 9, (13, 11)).astype(np.float64)
    stored = rng.random(numbers.shape) < 0.4
    x = rng.integers(-9, 9, 11)
    integers = format == "int16"
    end = np.iinfo(np.int16).max if pad > 0 else np.iinfo(np.int16).min
    dense = np.where(stored, numbers, end if integers else pad)
    driver = driver_of(T2sConfig(design=str(file)))
    found = driver.compute(A=dense.astype(np.int64) if integers else dense, X=x)
    times = np.add if semiring != "minmax" else np.maximum
    terms = times(numbers, x)
    plus = np.min if pad > 0 else np.max
    limits = np.iinfo(np.int32)
    identity = pad if not integers else (limits.max if pad > 0 else limits.min)
    wanted = [
        plus(row[some]) if some.any() else identity for row, some in zip(terms, stored, strict=True)
    ]
    assert found.tolist() == wanted
    again = driver.compute(A=coo_array((numbers[stored], np.nonzero(stored)), shape=(13, 11)), X=x)
    assert np.array_equal(found, again)


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
