"""Products of sparse matrices: SciPy's, costs beside formulas, gaps of the paper, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.dense.bilinear import STANDARD, STRASSEN
from tilewright.sim.tcu.formulas import sparse as costs
from tilewright.sim.tcu.formulas.sparse import round_of
from tilewright.sim.tcu.sparse.output_sensitive import MOST_ROUNDS, SparseProduct, spmul
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.sparse.costs import cost_of, work_of

SIDES = (4, 8, 16)


def unit_of(s: int, words: Words = INT64, weak: bool = False) -> TensorUnit:
    return TensorUnit(NumpyBackend(s), words, latency=10, weak=weak)


def drawn(rng: np.random.Generator, n: int, k: int, entries: float, low: int, high: int) -> Any:
    """About so many entries, from ``low`` to ``high``; zeros among them are left out."""
    x = rng.integers(low, high, (n, k), endpoint=True)
    return sparse.csr_array(x * (rng.random((n, k)) < entries / (n * k)))


def check(found: SparseProduct, a: Any, b: Any) -> None:
    """Compares an integer product with SciPy's, without zeros."""
    true = (a @ b).tocoo()
    true.eliminate_zeros()
    result = found.result
    assert result.places.tolist() == sorted(
        (true.row.astype(np.int64) * true.shape[1] + true.col).tolist()
    )
    assert np.all(result.values != 0)
    assert (result.to_scipy() != a @ b).nnz == 0


def test_every_side_up_to_70() -> None:
    rng = np.random.default_rng(1)
    for n in range(1, 71):
        k, p = 71 - n, 1 + (7 * n) % 70
        a, b = drawn(rng, n, k, 2 * n, -3, 3), drawn(rng, k, p, 2 * p, -3, 3)
        unit = unit_of(4)
        found = spmul(unit, a, b, seed=n)
        check(found, a, b)
        assert unit.cost == cost_of(found, a, b, 4)
        assert unit.cost.work == work_of(found, n, k, p, 4)
        assert unit.cost.fused_calls == 0


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(*[st.integers(1, 14)] * 3), st.floats(0, 1), st.integers(1, 5), st.booleans(),
    st.sampled_from([None, 1, 3, 40]), st.integers(0, 999), st.booleans(),
)  # fmt: skip
def test_small_integers(
    shape: tuple[int, int, int], density: float, s: int, weak: bool, entries: int | None,
    seed: int, few: bool,
) -> None:  # fmt: skip
    """Few values: many sums that cancel, and buckets that look as if one entry were there."""
    n, k, p = shape
    rng = np.random.default_rng(seed)
    low = -1 if few else -99
    a, b = drawn(rng, n, k, density * n * k, low, -low), drawn(rng, k, p, density * k * p, 0, -low)
    unit = unit_of(s, INT64, weak)
    found = spmul(unit, a, b, entries=entries, seed=seed)
    check(found, a, b)
    assert unit.cost == cost_of(found, a, b, s, weak)
    assert unit.cost.work == work_of(found, n, k, p, s, weak)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
@pytest.mark.parametrize("weak", slow_but([False], among=(False, True)))
def test_costs_are_the_formulas(s: int, weak: bool) -> None:
    rng = np.random.default_rng(2)
    for n, k, p in ((5, 5, 5), (s, s, s), (33, 70, 20), (64, 64, 64), (100, 31, 64),
                    (90, 128, 70), (120, 50, 140), (150, 150, 150)):  # fmt: skip
        a, b = drawn(rng, n, k, 2 * n, 1, 9), drawn(rng, k, p, 2 * p, 1, 9)
        z = max(1, (a @ b).nnz)
        for entries in (z,) if weak else (None, z):
            unit = unit_of(s, INT64, weak)
            found = spmul(unit, a, b, entries=entries)
            check(found, a, b)
            assert unit.cost == cost_of(found, a, b, s, weak)
            assert unit.cost.work == work_of(found, n, k, p, s, weak)


@pytest.mark.parametrize("s", SIDES)
def test_a_round_is_that_of_the_theorem(s: int) -> None:
    """sqrt(n / Z) (Z / m)^(3/2) (m + l) with the buckets squared as Z, where they divide; tall
    calls have less latency. Three products."""
    for q in range(1, 9):
        b, n = q * s, 8 * q * s
        entries = (b // 2) ** 2
        assert costs.buckets_for(entries, s) == b
        work = round_of(n, n, n, entries, s)
        assert work == UnitWork(3 * n * b // s**2, 3 * n * b // s**2 * b)
        assert work.rows * s == 3 * n // b * q**3 * s * s
        a = sparse.csr_array(([1], ([n - 1], [0])), shape=(n, n))
        unit = unit_of(s)
        found = spmul(unit, a, sparse.csr_array(([5], ([0], [2])), shape=(n, n)), entries=entries)
        assert [len(found.rounds), *found.result.values] == [1, 5]
        assert unit.cost.work == work == costs.spmul(n, entries, 2, s).work
        one = costs.exact_round(n, n, n, entries, s, left=1, right=1, known=0, summing=1, peeled=1)
        around = costs.check(n, n, n, 2) + costs.check(n, n, n, 3)
        assert unit.cost == one + around
        # Strassen's recursion makes 7^h products of blocks, n / b times.
        if q & (q - 1) == 0:
            h = q.bit_length() - 1
            recursive = unit_of(s)
            spmul(recursive, a, a[:, ::-1].tocsr(), entries=entries, scheme=STRASSEN)
            rounds = recursive.cost.calls // (3 * n // b * 7**h)
            assert recursive.cost.work == UnitWork(1, s) * (rounds * 3 * (n // b) * 7**h)


@pytest.mark.parametrize("scheme", [STRASSEN, STANDARD], ids=lambda scheme: scheme.name)
def test_recursions(scheme: Any) -> None:
    rng = np.random.default_rng(3)
    data = {"strassen": (7, 15, 2), "standard": (8, 4, 2)}[scheme.name]
    for n, k, p, s in ((30, 30, 30, 4), (17, 50, 12, 4), (5, 2, 9, 1), (60, 60, 60, 16)):
        a, b = drawn(rng, n, k, 2 * n, -9, 9), drawn(rng, k, p, 2 * p, -9, 9)
        unit = unit_of(s)
        found = spmul(unit, a, b, entries=n, scheme=scheme)
        check(found, a, b)
        assert unit.cost == cost_of(found, a, b, s, scheme=data)


@pytest.mark.parametrize("modulus", [71, 65537, (1 << 61) - 1])
def test_residues(modulus: int) -> None:
    rng = np.random.default_rng(4)
    for n, k, p in ((70, 30, 64), (20, 20, 20), (1, 5, 2)):
        x = rng.integers(0, modulus, (n, k)) * (rng.random((n, k)) < 2 / k)
        y = rng.integers(0, modulus, (k, p)) * (rng.random((k, p)) < 2 / k)
        unit = unit_of(4, modular(modulus))
        found = spmul(unit, x, y)
        true = x.astype(object) @ y.astype(object) % modulus
        assert found.result.to_dense(unit.words).tolist() == true.tolist()
        assert np.all(found.result.values != 0)
        a, b = sparse.csr_array(x), sparse.csr_array(y)
        assert unit.cost == cost_of(found, a, b, 4, modulus=modulus)


def test_nothing_comes_of_nothing() -> None:
    """Sums that all cancel make no calls either: the check finds this before any product."""
    row, minus = np.array([[1, -1]]), np.array([[3], [3]])
    wide = np.kron(np.eye(20, dtype=int), row), np.kron(np.eye(20, dtype=int), minus)
    for a, b in ((np.zeros((3, 4), int), np.ones((4, 2), int)), (row, minus), wide):
        unit = unit_of(4)
        found = spmul(unit, a, b)
        assert (len(found.result), found.rounds) == (0, ())
        assert unit.cost.calls == 0
        assert unit.cost == cost_of(found, sparse.csr_array(a), sparse.csr_array(b), 4)


def test_entries_that_cancel_are_not_there() -> None:
    """A product whose terms are on all places and whose entries are on few: buckets are as many as
    few entries take."""
    rng = np.random.default_rng(5)
    x = rng.integers(1, 9, (200, 40))
    y = rng.integers(1, 9, (40, 200))
    few = drawn(rng, 200, 200, 100, 1, 9).toarray()
    a, b = np.hstack([x, -x, few]), np.vstack([y, y, np.eye(200, dtype=int)])
    unit = unit_of(4)
    found = spmul(unit, a, b)
    assert found.result.to_dense(INT64).tolist() == few.tolist()
    assert max(one.entries for one in found.rounds) < 1000
    assert unit.cost.work == work_of(found, 200, 280, 200, 4)


def test_dense_results() -> None:
    """The last round has a bucket for each row and column, so one product gives all entries."""
    rng = np.random.default_rng(6)
    for n in (1, 7, 40, 70):
        a, b = (sparse.csr_array(rng.integers(1, 9, (n, n))) for _ in range(2))
        unit = unit_of(4)
        found = spmul(unit, a, b, entries=n * n)
        check(found, a, b)
        q = -(-n // 4)
        assert [one.products for one in found.rounds] == [1]
        assert unit.cost.work == UnitWork(q * q, q * q * max(n, 4))
        check(spmul(unit_of(4), a, b), a, b)


def test_duplicates_and_zeros_of_files_are_one_entry_or_none() -> None:
    a = sparse.coo_array(([1, 2, 5, -5, 0], ([0, 0, 1, 1, 2], [1, 1, 0, 0, 2])), shape=(3, 3))
    found = spmul(unit_of(4), a, sparse.eye_array(3, dtype=int).tocoo())
    assert found.result.to_dense(INT64).tolist() == [[0, 3, 0], [0, 0, 0], [0, 0, 0]]
    assert len(found.result) == 1


class OneBucket:
    """Draws that put everything into few buckets, for a given number of rounds."""

    def __init__(self, bad: int) -> None:
        self.rng, self.bad, self.asked = np.random.default_rng(0), bad, 0

    def permutation(self, n: int) -> Any:
        self.asked += 1
        return np.zeros(n, int) if self.asked <= self.bad else self.rng.permutation(n)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


@pytest.mark.parametrize("bad", [2, 5, 8])
def test_all_in_one_bucket(bad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that could not be worse: Z is doubled, and the result is right."""
    rng = np.random.default_rng(7)
    a, b = drawn(rng, 60, 60, 90, 1, 3), drawn(rng, 60, 60, 90, 1, 3)
    draws = OneBucket(bad)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: draws)
    unit = unit_of(4)
    found = spmul(unit, a, b)
    check(found, a, b)
    assert found.rounds[0].left == 1
    assert found.rounds[1].entries == 2 * found.rounds[0].entries
    assert unit.cost == cost_of(found, a, b, 4)


def test_buckets_that_look_like_one_entry() -> None:
    """Two equal entries in columns 0 and 2 look like one in column 1, if that is in the bucket:
    all entries are such. What is peeled wrongly is peeled again, and the check tells when all is
    right."""
    n = 30
    for seed in range(20):
        a, b = np.ones((n, 1), int), np.zeros((1, n), int)
        b[0, ::2] = 1
        unit = unit_of(2)
        found = spmul(unit, a, b, entries=4, seed=seed)
        check(found, sparse.csr_array(a), sparse.csr_array(b))
        if any(one.peeled + one.known > one.kept for one in found.rounds):
            return
    raise AssertionError("none was peeled wrongly")


def test_a_hash_that_always_fails_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last rounds have buckets of all rows and columns."""
    monkeypatch.setattr("tilewright.sim.tcu.sparse.output_sensitive.MOST_ROUNDS", 2)
    rng = np.random.default_rng(8)
    a, b = drawn(rng, 50, 50, 900, 1, 3), drawn(rng, 50, 50, 900, 1, 3)
    found = spmul(unit_of(4), a, b, entries=1)
    check(found, a, b)
    assert [one.buckets for one in found.rounds] == [(4, 4), (4, 4), (50, 50)]
    assert 66 < 1 << 7
    assert MOST_ROUNDS + 2 <= 66


def test_seeds() -> None:
    rng = np.random.default_rng(9)
    a, b = drawn(rng, 90, 90, 200, 1, 9), drawn(rng, 90, 90, 200, 1, 9)
    runs = [spmul(unit_of(4), a, b, seed=seed) for seed in (3, 3, 4)]
    assert runs[0].rounds == runs[1].rounds != runs[2].rounds
    assert runs[0].result.places.tolist() == runs[2].result.places.tolist()


def balanced(rng: np.random.Generator, n: int, each: int) -> tuple[Any, Any]:
    """``each`` entries in every row and column of the product: permutations, summed."""
    a = sum(sparse.csr_array((rng.integers(1, 9, n), (np.arange(n), rng.permutation(n))))
            for _ in range(each))  # fmt: skip
    return a.astype(np.int64), sparse.eye_array(n, dtype=np.int64).tocsr()


def test_balanced_results_take_few_rounds_that_shrink() -> None:
    """If Z is given, at least 1 - (R + Q) / b - Z / b^2 of a round's entries are alone in a bucket,
    on average over six hashes (R, Q: entries in a row and in a column). The products of all rounds
    stream at most twice the rows of the first round's."""
    n, each, s = 400, 2, 16
    for seed in range(3):
        a, b = balanced(np.random.default_rng(seed), n, each)
        z = (a @ b).nnz
        buckets = costs.buckets_for(z, s)
        shares = []
        for again in range(6):
            unit = unit_of(s)
            found = spmul(unit, a, b, entries=z, seed=again)
            check(found, a, b)
            shares.append(found.rounds[0].peeled / z)
            first = round_of(n, n, n, z, s)
            assert unit.cost.rows <= 2 * first.rows
            assert len(found.rounds) <= 6
        assert np.mean(shares) >= 1 - 2 * each / buckets - z / buckets**2


def test_one_round_is_not_enough() -> None:
    """The paper compresses once, into sqrt(Z) rows and columns. About e^-1 of the entries are alone
    then, of a product with few entries a row; 1 - e^-(1/4) even with twice as many buckets on each
    side are not."""
    a, b = balanced(np.random.default_rng(10), 3000, 1)
    z = 3000
    for entries, alone in ((z // 4, np.exp(-1)), (z, np.exp(-1 / 4))):
        found = spmul(unit_of(55), a, b, entries=entries)
        assert found.rounds[0].buckets[0] == {z // 4: 55, z: 110}[entries]
        assert found.rounds[0].peeled / z == pytest.approx(alone, abs=0.05)
        assert len(found.rounds) > 1


def test_a_full_row_is_not_balanced() -> None:
    """Its n entries are in the buckets of one row: at c sqrt(n) of them none is alone, and rounds
    double until there are about as many as columns. The product is right, at a dense one's
    price."""
    n, s = 128, 4
    a = sparse.csr_array((np.ones(n, int), (np.zeros(n, int), np.arange(n))), shape=(n, n))
    b = sparse.csr_array((np.arange(1, n + 1), (np.arange(n), np.arange(n))), shape=(n, n))
    unit = unit_of(s)
    found = spmul(unit, a, b, entries=n)
    check(found, a, b)
    assert found.rounds[0].peeled <= 2
    assert max(one.buckets[1] for one in found.rounds) >= n // 2
    assert unit.cost.rows * s > 10 * round_of(n, n, n, n, s).rows * s


def test_checks_are_wrong_as_seldom_as_said() -> None:
    """Modulo 71 with one vector a wrong product passes one time in 71."""
    from tilewright.sim.tcu.sparse import freivalds
    from tilewright.sim.tcu.sparse.entries import as_entries

    field = modular(71)
    assert freivalds.vectors_for(field) == 10  # 71^10 > 2^60
    assert freivalds.vectors_for(modular((1 << 31) - 1)) == 2
    unit = unit_of(4, field)
    a, b, c = (as_entries("a", x, field) for x in ([[1, 2]], [[3, 4], [5, 6]], [[13, 17]]))
    rng = np.random.default_rng(11)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freivalds, "vectors_for", lambda field: 1)
        passed = [freivalds.is_product(unit, rng, a, b, c, [field]) for _ in range(3550)]
    assert sum(passed) == pytest.approx(50, abs=28)
    assert not any(freivalds.is_product(unit, rng, a, b, c, [field]) for _ in range(100))
    right = as_entries("c", [[13, 16]], field)
    assert all(freivalds.is_product(unit, rng, a, b, right, [field]) for _ in range(100))


def test_integers_that_a_prime_divides_are_seen() -> None:
    """The primes suffice: their product exceeds the largest possible difference."""
    prime = (1 << 31) - 1
    for value in (prime, prime * prime, -prime * 2147483629):
        a, b = np.full((3, 1), value), np.ones((1, 3), int)
        unit = unit_of(4)
        found = spmul(unit, a, b)
        check(found, sparse.csr_array(a), sparse.csr_array(b))
        assert found.fields == (2 if value == prime else 3)
        assert unit.cost == cost_of(found, sparse.csr_array(a), sparse.csr_array(b), 4)


@pytest.mark.parametrize(
    "words", slow_but([FP64], among=(FP32, FP64, COMPLEX)), ids=lambda words: words.name
)
def test_floats(words: Floats) -> None:
    """The structure is that of SciPy's counts of terms; values are within the bound of a sum of so
    many terms; on the unit and by the CPU, as it takes less."""
    rng = np.random.default_rng(12)
    seen = set()
    for n, k, p, s, entries in ((70, 60, 50, 4, 150), (1, 1, 1, 4, 9), (40, 40, 40, 4, 1500),
                                (64, 400, 64, 16, 9000), (150, 500, 150, 8, 4000)):  # fmt: skip
        drawn_ones = drawn(rng, n, k, entries, -99, 99), drawn(rng, k, p, entries, -99, 99)
        a, b = (one.astype(words.dtype) for one in drawn_ones)
        a.data *= rng.standard_normal(len(a.data)).astype(words.dtype)
        if words is COMPLEX:
            a.data += 1j * rng.standard_normal(len(a.data))
        unit = unit_of(s, words)
        found = spmul(unit, a, b)
        ones = [(one != 0).astype(np.int64) for one in (a, b)]
        counts = (ones[0] @ ones[1]).toarray()
        result = found.result
        assert np.array_equal(result.to_dense(words) != 0, counts != 0)
        wide = np.complex128 if words is COMPLEX else np.float64
        true = (a.astype(wide) @ b.astype(wide)).toarray()
        sizes = (abs(a).astype(float) @ abs(b).astype(float)).toarray()
        factor = 4 * (counts + 2) * words.roundoff
        assert np.all(abs(result.to_dense(words) - true) <= factor * sizes)
        assert unit.cost == cost_of(found, a, b, s)
        seen |= {"unit"} if found.value_rounds else set()
        seen |= {"cpu"} if found.terms else set()
    assert seen == {"unit", "cpu"}


def test_floats_that_mix_in_a_bucket_do_not_reach_others() -> None:
    """Numbers that overflow when they are added, or drown others, are in lines of a bucket that
    meet zeros: what is alone has the product's own rounding."""
    n, s = 64, 16
    rng = np.random.default_rng(13)
    sizes = 10.0 ** rng.integers(-150, 150, n)
    a = np.diag(sizes)[rng.permutation(n)]
    b = np.diag(1.5 / sizes)[:, rng.permutation(n)]
    a[5], b[:, 7] = 0, 0
    huge = np.diag(np.full(n, 1.7e308))
    for left, right, entries in ((a, b, 64), (huge, np.eye(n), 64)):
        for latency in (0, 10):
            unit = TensorUnit(NumpyBackend(s), FP64, latency)
            found = spmul(unit, left, right, entries=entries)
            assert found.result.to_dense(FP64).tolist() == (left @ right).tolist()


def test_sums_of_floats_that_cancel_stay_entries() -> None:
    found = spmul(unit_of(4, FP64), [[1.0, -1.0]], [[2.0], [2.0]])
    assert found.result.places.tolist() == [0]
    assert found.result.values.tolist() == [0.0]


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """The formulas, which equal the counts, grow with Z in one round, with sqrt(n Z) where that is
    more, and with I. The sums of the unit's results, sqrt(n / m) for each of 3 c^2 Z buckets, are
    the unit's time once more (Theorem 1)."""
    s, n, z = 4, 1 << 20, 1 << 22
    sweeps = {
        "Z": [(n, z << i, n) for i in range(0, 8, 2)],
        "n": [(n << i, z, n) for i in range(4)],
        "I": [(1 << 12, 1 << 8, 1 << i) for i in range(30, 36)],
    }
    expected = {"Z": 1.0, "n": 1.0, "I": 1.0}
    for name, sizes in sweeps.items():
        grown = [one["nZI".index(name)] for one in sizes]
        words = [costs.spmul(side, entries, inputs, s).cpu for side, entries, inputs in sizes]
        slope = np.polyfit(np.log(grown), np.log(words), 1)[0]
        assert slope == pytest.approx(expected[name], abs=0.05), name
    for side, entries, inputs in sweeps["Z"]:
        leading = 3 * 4 * entries * side / s
        assert costs.spmul(side, entries, inputs, s).cpu / leading == pytest.approx(1, abs=0.05)
    for side, entries, inputs in ((1 << 12, 1 << 14, 1000), (1 << 20, 1 << 22, 1 << 20)):
        root = int(entries**0.5)
        total = 12 * side * entries // s + 8 * side * root + 13 * inputs + 17 * entries + 22 * side
        assert costs.spmul(side, entries, inputs, s).cpu == total


def test_overflows_are_told() -> None:
    """Sums times numbers of rows need more bits than values; with a bucket for each row and column
    they are not needed."""
    n = 100
    a = sparse.csr_array(([1 << 57], ([99], [0])), shape=(n, n), dtype=np.int64)
    b = sparse.csr_array(([1], ([0], [3])), shape=(n, n), dtype=np.int64)
    message = "words must have 65 bits to hold the result, not 64"
    with pytest.raises(WordOverflow, match=f"^{re.escape(message)}$"):
        spmul(unit_of(4), a, b, entries=4)
    check(spmul(unit_of(4), a, b, entries=n * n), a, b)
    with pytest.raises(WordOverflow, match=r"^words must have 9 bits to hold the result, not 8$"):
        spmul(unit_of(4, integer(8)), [[100, 100]], [[1], [1]])
    # Residues have no such sums.
    field = modular((1 << 61) - 1)
    assert spmul(unit_of(4, field), a, b, entries=4).result.values.tolist() == [1 << 57]


@pytest.mark.parametrize(
    ("words", "a", "b", "options", "error", "message"),
    [
        (INT64, [[1]], [[1], [2]], {}, ValueError, "`a` and `b` must be matrices (n, k) and "
         "(k, p), not of shapes (1, 1) and (2, 1)"),
        (INT64, [1], [[1]], {}, ValueError, "`a` must be a matrix, not empty, not of shape (1,)"),
        (INT64, [[1]], np.zeros((1, 0), int), {}, ValueError, "`b` must be a matrix, not empty, "
         "not of shape (1, 0)"),
        (INT64, [[0.5]], [[1]], {}, TypeError, "words of int64 must be integers, not float64"),
        (INT64, [[1]], [[1]], {"entries": 0}, ValueError, "`entries` must be 1 or more, not 0"),
        (INT64, [[1]], [[1]], {"entries": 2.0}, TypeError, "`entries` must be an integer, not "
         "float"),
        (BOOLEAN, [[1]], [[1]], {}, ValueError, "words of spmul must be integers, modular or "
         "floats, not boolean"),
        (MINPLUS, [[1]], [[1]], {}, ValueError, "words of spmul must be integers, modular or "
         "floats, not minplus"),
        (modular(91), [[1]], [[1]], {}, ValueError, "words of spmul must be modulo a prime of 1 "
         "or more, not modular(91)"),
        (modular(5), np.ones((7, 1), int), [[1]], {}, ValueError, "words of spmul must be modulo "
         "a prime of 7 or more, not modular(5)"),
        (FP64, [[np.inf]], [[1.0]], {}, ValueError, "`a` must hold finite numbers"),
        (FP64, [[1.0]], [[np.nan]], {}, ValueError, "`b` must hold finite numbers"),
    ],
)  # fmt: skip
def test_refusals(
    words: Words, a: Any, b: Any, options: Any, error: type[Exception], message: str
) -> None:
    unit = unit_of(4, words)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        spmul(unit, a, b, **options)
    assert unit.cost == Cost()


def test_operands_that_would_be_too_large() -> None:
    one = sparse.csr_array(([1], ([0], [0])), shape=(1 << 18, 1 << 18), dtype=np.int64)
    message = (
        "compressed operands must have at most 67108864 words, not 134217728, as for 65536 entries "
        "of the product"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        spmul(unit_of(4), one, one, entries=1 << 16)
