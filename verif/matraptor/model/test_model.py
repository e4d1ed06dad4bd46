"""The golden model of MatRaptor: against SciPy and GraphBLAS, and what it refuses."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.spec.c2sr import VALUES
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result import rows as matraptor
from tilewright.sim.matraptor.result.rows import spgemm
from tilewright.sim.sparse.c2sr import from_csr, to_csr
from tilewright.verif.c2sr.rows import NUMPY
from tilewright.verif.matraptor.cases import config, operands, scipy_structure, some_matrix
from tilewright.verif.matraptor.jobs import reference_product, result_pointers

pytestmark = pytest.mark.quick

SHAPES = [
    (1, 1, 1), (1, 300, 1), (300, 1, 300), (1, 50, 200), (200, 50, 1), (40, 60, 80), (97, 97, 97),
]  # fmt: skip


@pytest.mark.parametrize("value", ["fp64", "fp32", "int32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_products_are_scipys(shape: tuple[int, int, int], value: str) -> None:
    rng = np.random.default_rng(5000)
    rows, inner, cols = shape
    cfg = config(value=value, queues=10, lanes=4, channels=8)
    for density in (0, 0.01, 0.1, 0.5, 1):
        a, b, left, right = operands(cfg, rng, rows, inner, cols, density)
        found = spgemm(cfg, left, right)
        assert found.c is not None
        c, structure = to_csr(found.c), scipy_structure(a, b)
        assert c.shape == (rows, cols)
        assert np.array_equal(c.indptr, structure.indptr)
        assert np.array_equal(c.indices, structure.indices)
        assert found.statistics.products == structure.data.sum()
        if value == "int32":
            exact = (a.astype(np.int64) @ b.astype(np.int64)).toarray()
            assert np.array_equal(c.toarray(), exact.astype(np.uint32).view(np.int32))
        else:
            slack = abs(a) @ abs(b) * float(np.finfo(NUMPY[value]).eps) * (inner + 1)
            assert (np.abs(c.toarray() - (a @ b).toarray()) <= slack.toarray()).all()


def test_zeros_that_arise_stay_entries() -> None:
    cfg = config()
    a = from_csr(sp.csr_array([[1.0, 1.0], [0.0, 2.0]]), cfg.layout)
    b = from_csr(sp.csr_array([[3.0], [-3.0]]), cfg.layout)
    found = spgemm(cfg, a, b).c
    assert found is not None
    assert found.lengths.tolist() == [1, 1]
    assert to_csr(found).data.tolist() == [0.0, -6.0]


GRAPHBLAS = {
    "mma": gb.semiring.plus_times,
    "minplus": gb.semiring.min_plus,
    "maxplus": gb.semiring.max_plus,
    "minmul": gb.semiring.min_times,
    "maxmul": gb.semiring.max_times,
    "minmax": gb.semiring.min_max,
    "maxmin": gb.semiring.max_min,
    "orand": gb.semiring.lor_land,
}


def graphblas_product(name: str, a: Any, b: Any) -> Any:
    """Multiplies with SuiteSparse. addnorm is composed of four sums, exact only for small
    integers."""
    if name == "addnorm":
        squares = [x.copy() for x in (a, b)]
        ones = [x.copy() for x in (a, b)]
        for x in squares:
            x.data = x.data**2
        for x in ones:
            x.data = np.ones_like(x.data)
        twice = a.copy()
        twice.data = -2 * twice.data
        terms = ((squares[0], ones[1]), (ones[0], squares[1]), (twice, b))
        parts = [graphblas_product("mma", *term) for term in terms]
        parts[0].data = sum(part.data for part in parts)
        return parts[0]
    both = [gb.Matrix.from_csr(x.indptr, x.indices, x.data, ncols=x.shape[1]) for x in (a, b)]
    indptr, indices, data = both[0].mxm(both[1], GRAPHBLAS[name]).new().to_csr()
    return sp.csr_array((data, indices, indptr), shape=(a.shape[0], b.shape[1]))


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("value", VALUES)
def test_semirings_are_graphblas(semiring: str, value: str) -> None:
    """Small integers, exact in every format: structure and values."""
    rng = np.random.default_rng(5100)
    cfg = config(semiring=semiring, value=value, queues=5)
    dtype = np.int32 if value == "int32" else np.float64
    for rows, inner, cols in SHAPES:
        for density in (0.05, 0.3):
            a, b = (some_matrix(rng, *shape, density) for shape in ((rows, inner), (inner, cols)))
            for x in (a, b):
                x.data = rng.integers(-2, 3, x.nnz).astype(dtype)
            found = spgemm(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))
            assert found.c is not None
            c, expected = to_csr(found.c), graphblas_product(semiring, a, b)
            assert np.array_equal(c.indptr, expected.indptr)
            assert np.array_equal(c.indices, expected.indices)
            assert np.array_equal(c.data, expected.data)


@pytest.mark.parametrize("semiring", [name for name in GRAPHBLAS if name != "mma"])
@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_semirings_of_any_numbers_are_graphblas(semiring: str, value: str) -> None:
    """Semirings in which only (x) rounds give the same bits for any numbers."""
    rng = np.random.default_rng(5200)
    cfg = config(semiring=semiring, value=value)
    a, b, left, right = operands(cfg, rng, 120, 90, 150, 0.2)
    found = spgemm(cfg, left, right)
    assert found.c is not None
    expected = graphblas_product(semiring, a.astype(NUMPY[value]), b.astype(NUMPY[value]))
    c = to_csr(found.c)
    assert np.array_equal(c.indices, expected.indices)
    assert np.array_equal(c.data, expected.data.astype(NUMPY[value]))
    plain = reference_product(left, right, semiring)
    got = found.c.patterns()
    for part in ("starts", "columns", "values"):
        assert np.array_equal(getattr(plain, part), getattr(got, part))


def test_plain_reference_is_numpys() -> None:
    """Terms in the order of k, one after the other, in float32."""
    rng = np.random.default_rng(5300)
    cfg = config()
    a = rng.standard_normal((20, 70)).astype(np.float32)
    b = rng.standard_normal((70, 30)).astype(np.float32)
    total = a[:, :1] * b[0]
    for k in range(1, 70):
        total = total + a[:, k : k + 1] * b[k]
    found = reference_product(
        from_csr(sp.csr_array(a), cfg.layout), from_csr(sp.csr_array(b), cfg.layout), "mma"
    )
    assert found.starts.tolist() == list(range(0, 601, 30))
    assert found.columns.tolist() == list(range(30)) * 20
    assert np.array_equal(found.values, total.reshape(-1).view(np.uint32))


def test_parts_of_the_work_are_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5600)
    cfg = config(queues=4)
    _, _, a, b = operands(cfg, rng, 60, 40, 50, 0.4)
    whole = spgemm(cfg, a, b)
    monkeypatch.setattr(matraptor, "_CHUNK", 100)
    monkeypatch.setattr(matraptor, "_PIECE", 7)
    parts = spgemm(cfg, a, b)
    assert whole.c is not None
    assert parts.c is not None
    assert parts.c.same_as(whole.c)
    for name in ("products", "results", "merge_steps", "pops", "largest_queue"):
        assert getattr(parts.statistics, name) == getattr(whole.statistics, name)


def test_refusals() -> None:
    cfg = config()
    a = from_csr(sp.csr_array((3, 4)), cfg.layout)
    other = from_csr(sp.csr_array((4, 2)), config(value="fp16").layout)
    b = from_csr(sp.csr_array((4, 2)), cfg.layout)
    moved = from_csr(sp.csr_array((4, 2)), config(channels=4).layout)
    for call, message in (
        (lambda: spgemm(cfg, a, a), "`b` must have 4 rows, as `a` has columns, not 3"),
        (lambda: spgemm(cfg, a, other), "`b` must be of fp32 as `a`, not fp16"),
        (lambda: reference_product(a, other, "mma"), "`b` must be of fp32 as `a`, not fp16"),
        (lambda: spgemm(cfg, a, moved),
         f"`b` must be laid out as {cfg.layout}, not {moved.layout}"),
        (lambda: spgemm(cfg, a, b, capacity=12),
         "`capacity` must be a positive multiple of 8, not 12"),
        (lambda: spgemm(cfg, a, b, capacity=0),
         "`capacity` must be a positive multiple of 8, not 0"),
        (lambda: result_pointers(cfg, np.array([3, 9]), 8),
         "row 1 must fit its lane's region of 8 entries"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as caught:
            call()
        assert str(caught.value) == message


def test_empty_operands() -> None:
    cfg = config()
    for rows, inner, cols in ((0, 3, 3), (3, 0, 3), (3, 3, 0), (5, 5, 5), (0, 0, 0)):
        a = from_csr(sp.csr_array((rows, inner)), cfg.layout)
        b = from_csr(sp.csr_array((inner, cols)), cfg.layout)
        found = spgemm(cfg, a, b)
        assert found.c is not None
        assert (found.c.shape, found.c.nnz) == ((rows, cols), 0)
        assert found.statistics.products == found.statistics.largest_queue == 0
        assert reference_product(a, b, "mma").starts.tolist() == [0] * (rows + 1)


@pytest.mark.slow
def test_millions_of_products() -> None:
    """A power-law matrix, squared, in parts; structure and values as SciPy's."""
    rng = np.random.default_rng(5700)
    size = 40_000
    lengths = np.minimum(rng.zipf(1.7, size), 600) + 2
    rows = np.repeat(np.arange(size), lengths)
    hubs = (size * rng.random(len(rows)) ** 2).astype(np.int64)
    matrix = sp.csr_array((rng.standard_normal(len(rows)), (rows, hubs)), shape=(size, size))
    cfg = config(value="fp64", queue_depth=65536)
    operand = from_csr(matrix, cfg.layout)
    found = spgemm(cfg, operand, operand)
    assert found.c is not None
    structure = scipy_structure(matrix, matrix)
    assert found.statistics.products == structure.data.sum() > 5_000_000
    c = to_csr(found.c)
    assert np.array_equal(c.indptr, structure.indptr)
    assert np.array_equal(c.indices, structure.indices)
    expected, slack = matrix @ matrix, abs(matrix) @ abs(matrix)
    expected.sort_indices()
    slack.sort_indices()
    assert len(expected.data) == len(c.data)
    assert (np.abs(c.data - expected.data) <= slack.data * 2.0**-52 * 1000).all()
