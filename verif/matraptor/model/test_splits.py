"""Products of which rows may not fit the queues: which rows are sure to, and the jobs for the
others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor import splits
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.rows import spgemm
from tilewright.sim.numbers.values import is_true
from tilewright.sim.sparse.c2sr import C2sr, from_csr, from_patterns
from tilewright.sim.sparse.csr_image import take_columns, take_rows
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.kit.sampling import cases, rng_of
from tilewright.verif.matraptor.cases import config, random_matrix, some_matrix

SMALL: dict[str, Any] = {"lanes": 2, "channels": 2, "queues": 4, "queue_depth": 16}


def pair(cfg: MatRaptorConfig, seed: int, rows: int, inner: int, cols: int) -> tuple[C2sr, C2sr]:
    rng = np.random.default_rng(seed)
    a = random_matrix(rng, cfg, (rows, inner), 0.4)
    return a, random_matrix(rng, cfg, (inner, cols), 0.3)


@settings(max_examples=cases(400), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(4, 12), st.integers(1, 40))
def test_rows_that_are_sure_to_fit_do(seed: int, queues: int, depth: int, cols: int) -> None:
    """In any range of columns; all are if their products are as few as a queue's places."""
    cfg = config(queues=queues, queue_depth=depth)
    a, b = pair(cfg, seed, 9, 20, cols)
    low = seed % cols
    columns = low, low + 1 + seed // cols % (cols - low)
    sure, likely = splits.sure_rows(cfg, a.patterns(), b.patterns(), columns)
    inside = take_columns(b.patterns(), columns)
    wrong = spgemm(cfg, a, from_patterns(inside, b.shape, cfg.layout)).overflow
    assert not sure[wrong].any()
    assert sure[splits.products_in(a.patterns(), b.patterns(), columns) <= depth].all()
    assert not sure.all() or likely
    if columns[1] - columns[0] <= depth:
        assert sure.all()


def test_sure_rows_are_more_than_those_of_few_products() -> None:
    """Rows whose partial rows have a queue each, and narrow ones."""
    cfg = MatRaptorConfig(**SMALL)
    dense = np.zeros((4, 60))
    dense[:3, 1:60:4] = 1
    dense[3, :16] = 1
    eye = np.zeros((3, 4))
    eye[0, :3] = eye[1] = eye[2, 3] = 1
    a, b = from_csr(sp.csr_array(eye), cfg.layout), from_csr(sp.csr_array(dense), cfg.layout)
    sure, _ = splits.sure_rows(cfg, a.patterns(), b.patterns(), (0, 60))
    assert sure.tolist() == [True, False, True]
    narrow, _ = splits.sure_rows(cfg, a.patterns(), b.patterns(), (10, 26))
    assert narrow.all()


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_element_is_in_one_job(
    monkeypatch: pytest.MonkeyPatch, seed: int, copies: bool
) -> None:
    """Whether parts of B are made or not."""
    _prefer(monkeypatch, copies)
    cfg = MatRaptorConfig(**SMALL)
    rng = rng_of(seed)
    rows, cols = int(rng.integers(1, 30)), int(rng.integers(20, 300))
    a, b = pair(cfg, seed, rows, 50, cols)
    left, right = a.patterns(), b.patterns()
    sure, _ = splits.sure_rows(cfg, left, right, (0, cols))
    parts = splits.parts_of(cfg, left, right, (0, cols), sure)
    seen = np.zeros((rows, cols), np.int64)
    for part in parts:
        for job in part.jobs:
            assert part.columns[0] <= job.columns[0] < job.columns[1] <= part.columns[1]
            seen[job.rows, job.columns[0] : job.columns[1]] += 1
            some = take_rows(left, job.rows)
            assert splits.sure_rows(cfg, some, right, job.columns)[0].all()
    assert (seen == 1).all()
    assert not sure.all()
    assert any(part.copied is not None for part in parts) == copies


def test_rows_that_do_fit_take_a_job_of_their_own() -> None:
    """Many equal columns: rows are not sure to fit, nor likely to."""
    cfg = MatRaptorConfig(**SMALL)
    dense = np.zeros((20, 200))
    dense[:, :12] = 1
    dense[0, 199] = 1
    eye = np.eye(30, 20)
    eye[4] = 1
    a, b = (from_csr(sp.csr_array(matrix), cfg.layout) for matrix in (eye, dense))
    sure, likely = splits.sure_rows(cfg, a.patterns(), b.patterns(), (0, 200))
    assert np.flatnonzero(~sure).tolist() == [4]
    assert not likely
    driver = SparseDriver(MatRaptorModel(cfg))
    deep = SparseDriver(MatRaptorModel(MatRaptorConfig(**{**SMALL, "queue_depth": 512})))
    assert driver.multiply(a, b).same_as(deep.multiply(a, b))
    assert [(job.rows, job.error) for job in driver.jobs] == [(29, "none"), (1, "none")]


def _prefer(monkeypatch: pytest.MonkeyPatch, copies: bool) -> None:
    """Makes as many parts of B as there may be, or none."""

    def cost(*known: Any) -> float:
        parts: int = known[4]
        return -parts if copies else parts

    monkeypatch.setattr(splits, "_bytes", cost)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_a_split_product_is_that_of_deep_queues(
    monkeypatch: pytest.MonkeyPatch, semiring: str, copies: bool
) -> None:
    """Bit for bit where sums do not round; a cache of B changes nothing."""
    _prefer(monkeypatch, copies)
    rng = rng_of(3)
    made = 0
    for value, cache in (("fp32", 0), ("int32", 1 << 12), ("bf16", 1 << 12)):
        some = {**SMALL, "semiring": semiring, "value": value}
        cfg = MatRaptorConfig(**some, cache_bytes=cache)
        deep = MatRaptorConfig(**{**some, "queue_depth": 4096})
        a, b = (some_matrix(rng, *shape, 0.3, value) for shape in ((21, 40), (40, 160)))
        if semiring in ("mma", "addnorm"):
            for matrix in (a, b):
                matrix.data = rng.integers(-2, 3, matrix.nnz).astype(matrix.data.dtype)
        x, y = (from_csr(matrix, cfg.layout) for matrix in (a, b))
        driver = SparseDriver(MatRaptorModel(cfg, 1 << 22, channel=FLAT if cache else None))
        whole = SparseDriver(MatRaptorModel(deep, 1 << 22))
        assert driver.multiply(x, y).same_as(whole.multiply(x, y))
        assert len(whole.jobs) == 1 < len(driver.jobs)
        assert [job.error for job in driver.jobs].count("overflow") <= 1
        made += sum(job.copies for job in driver.jobs)
        part = (17, 140)
        found = driver.multiply(x, y, columns=part).patterns()
        wanted = whole.multiply(x, y, columns=part).patterns()
        assert all(np.array_equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert (made > 0) == (copies and semiring != "addnorm")


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("value", ["fp16", "fp32", "int32"])
def test_the_identity_leaves_b_as_it_is(semiring: str, value: str) -> None:
    """Values of every kind, both zeros among them; of the rows that are chosen. Truth values stay
    true or not."""
    cfg = MatRaptorConfig(**SMALL, semiring=semiring, value=value)
    rng = rng_of(6)
    b = random_matrix(rng, cfg, (12, 16), 0.5, any_bits=True)
    starts, columns, values = b.patterns()
    values[::5] = 0
    if value != "int32":
        values[1::5] = 1 << cfg.format.bits - 1
    chosen = rng.random(12) < 0.7
    ones = splits.identity_rows(cfg, chosen)
    if semiring == "addnorm":
        assert ones is None
        return
    assert ones is not None
    changed = from_patterns(type(ones)(starts, columns, values), b.shape, cfg.layout)
    left = from_patterns(ones, (12, 12), cfg.layout)
    found = spgemm(cfg, left, changed).c
    assert found is not None
    got = found.patterns()
    kept = np.repeat(chosen, np.diff(starts))
    assert np.array_equal(got.columns, columns[kept])
    wanted = values[kept]
    if semiring == "orand":
        assert np.array_equal(is_true(got.values, cfg.format), is_true(wanted, cfg.format))
        return
    nan = np.zeros(len(wanted), np.bool_)
    if value != "int32":
        magnitude = wanted & np.uint64((1 << cfg.format.bits - 1) - 1)
        nan = magnitude > np.uint64(cfg.format.constant("+inf") or 0)
    assert np.array_equal(got.values[~nan], wanted[~nan])


def test_what_the_driver_refuses() -> None:
    cfg = MatRaptorConfig(**SMALL)
    a, b = pair(cfg, 1, 5, 6, 7)
    driver = SparseDriver(MatRaptorModel(cfg))
    for columns in ((0, 8), (3, 3), (-1, 4)):
        with pytest.raises(ValueError, match=r"^`columns` must be a range within 0\.\.7, not "):
            driver.multiply(a, b, columns=columns)
    outer = SparseDriver(MatRaptorModel(MatRaptorConfig(**SMALL, outer_product=True)))
    with pytest.raises(ValueError, match=r"^`columns` must be None for mode \"outer\""):
        outer.multiply(a, b, mode="outer", columns=(0, 2))
