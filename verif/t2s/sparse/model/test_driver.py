"""Sparse tensors through the driver, on the model: results against SciPy, refusals, counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array, csr_array, issparse, random_array
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.sampling import cases, rng_of

from .plans import NAMES, config_of, driver_of


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
@pytest.mark.parametrize("seed", range(cases(10)))
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
    """SciPy does the same. The zeros of a dense array are not stored."""
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
    """A dense array on another semiring does not store its pads; it stores zeros as entries."""
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
