"""The golden model of MatRaptor, bit for bit against its rules written down once more."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.c2sr import VALUES
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result.rows import spgemm
from tilewright.sim.sparse.c2sr import from_csr, to_csr
from tilewright.verif.c2sr.rows import NUMPY
from tilewright.verif.kit.sampling import cases
from tilewright.verif.matraptor.model.rules import check_against_rules
from tilewright.verif.matraptor.samples import DIVIDING, config, operands

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("queues", range(3, 17))
def test_rules_for_every_number_of_queues(queues: int) -> None:
    rng = np.random.default_rng(4500 + queues)
    cfg = config(queues=queues)
    for rows, inner, cols, density in (
        (6, 40, 20, 0.6), (3, 60, 9, 1), (9, 9, 9, 0.2), (1, 50, 7, 1), (12, 50, 1, 0.7),
    ):  # fmt: skip
        _, _, a, b = operands(cfg, rng, rows, inner, cols, density)
        assert check_against_rules(cfg, a, b).c is not None


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_rules_for_every_semiring_and_format(semiring: str, value: str) -> None:
    rng = np.random.default_rng(4600)
    cfg = config(semiring=semiring, value=value, queues=4, lanes=4, channels=2)
    for density in (0.3, 1.0):
        a, b, _, _ = operands(cfg, rng, 7, 15, 9, density)
        if value == "int32" and semiring != "mma":
            # Where sums do not saturate: NumPy's wrap.
            a.data[:] = a.data // 2**18
            b.data[:] = b.data // 2**18
        check_against_rules(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))


@pytest.mark.parametrize("value", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("semiring", ["mma", "minplus", "maxmul", "maxmin"])
def test_special_values(semiring: str, value: str) -> None:
    """Infinities, NaN, both zeros, subnormals, sums that overflow."""
    rng = np.random.default_rng(4700)
    cfg = config(semiring=semiring, value=value, queues=3)
    info = ml_dtypes.finfo(NUMPY[value])
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, float(info.max), -float(info.max),
               float(info.smallest_subnormal), float(info.tiny)]  # fmt: skip
    for share in (0.05, 0.8):
        a, b, _, _ = operands(cfg, rng, 12, 20, 8, 0.7)
        for x in (a, b):
            x.data = np.where(rng.random(x.nnz) < share, rng.choice(special, x.nnz), x.data)
        check_against_rules(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))


@settings(max_examples=cases(400), deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 25), st.integers(1, 12),
    st.floats(0, 1), st.integers(3, 6), st.integers(4, 12),
    st.sampled_from(DIVIDING),
)  # fmt: skip
def test_rules_and_overflow_for_any_shape(
    seed: int, rows: int, inner: int, cols: int, density: float, queues: int, depth: int,
    parallel: tuple[int, int],
) -> None:  # fmt: skip
    cfg = config(queues=queues, queue_depth=depth, lanes=parallel[0], channels=parallel[1])
    _, _, a, b = operands(cfg, np.random.default_rng(seed), rows, inner, cols, density)
    check_against_rules(cfg, a, b)


def test_a_queue_takes_its_depth_and_not_one_more() -> None:
    """Appended whole, merged side by side, and merged on the same columns."""
    cfg = config(queues=3, queue_depth=4)
    for columns, fits in (
        ([range(4)], True),
        ([range(5)], False),
        ([range(4), range(4, 8), [0, 1, 2, 3]], True),
        ([[0], [5, 6], [1, 2, 3]], True),
        ([[0], [5, 6], [1, 2, 3, 4]], False),
        ([range(4), range(4), [0, 1, 2, 4]], False),
    ):
        dense = np.zeros((len(columns), 9))
        for k, row in enumerate(columns):
            dense[k, list(row)] = 1
        a = from_csr(sp.csr_array(np.ones((1, len(columns)))), cfg.layout)
        found = check_against_rules(cfg, a, from_csr(sp.csr_array(dense), cfg.layout))
        assert found.overflow.tolist() == ([] if fits else [0])


def test_few_partial_rows_are_added_by_the_tree() -> None:
    """Up to nine terms in ten queues: float32 sums of NumPy in the tree's order."""
    rng = np.random.default_rng(4800)
    cfg = config()
    for degree in range(1, 10):
        a = rng.standard_normal((50, degree)).astype(np.float32)
        b = rng.standard_normal((degree, 40)).astype(np.float32)
        found = spgemm(cfg, from_csr(sp.csr_array(a), cfg.layout), from_csr(sp.csr_array(b),
                       cfg.layout))  # fmt: skip
        terms = [a[:, k : k + 1] * b[k] for k in range(degree)]
        while len(terms) > 1:
            terms = [sum(terms[n + 1 : n + 2], terms[n]) for n in range(0, len(terms), 2)]
        assert found.c is not None
        assert np.array_equal(to_csr(found.c).toarray(), terms[0])
        assert found.statistics.merge_steps == 0
        assert found.statistics.pops == degree * 50 * 40


def test_long_chains_of_sums() -> None:
    """A dot product of 3000 terms: levels by the hundred."""
    rng = np.random.default_rng(4900)
    for queues in (3, 10):
        cfg = config(queues=queues)
        _, _, a, b = operands(cfg, rng, 1, 3000, 1, 1)
        found = check_against_rules(cfg, a, b)
        assert found.statistics.merge_steps == 3000 - (queues - 1)
