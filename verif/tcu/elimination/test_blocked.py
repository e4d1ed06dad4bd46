"""Gaussian elimination: factors and solutions, counts beside formulas, growth, refusals."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from tilewright.sim.tcu import Cost, UnitWork
from tilewright.sim.tcu.elimination.blocked import (
    PivotError,
    eliminate,
    factors_error,
    growth,
    lower,
    residual_error,
    upper,
)
from tilewright.sim.tcu.elimination.substitution import solve
from tilewright.sim.tcu.formulas import elimination as costs
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    Array,
    Words,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.tcu.reference_units import unit_of

P = 998244353


def dominant(n: int, seed: int, words: Floats = FP64) -> Array:
    """Each diagonal element is larger than the others of its column together."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    if words.dtype.kind == "c":
        a = a + 1j * rng.standard_normal((n, n))
    return words.array(a + np.diag(np.abs(a).sum(axis=0) + 1))


def fractions(x: Array) -> tuple[Array, Array]:
    exact = np.vectorize(Fraction, otypes=[object])
    return exact(np.real(x).astype(float)), exact(np.imag(x).astype(float))


def distance(a: Array, x: Array, b: Array) -> Array:
    """``|a x - b|``, in fractions."""
    (ar, ai), (xr, xi), (br, bi) = fractions(a), fractions(x), fractions(b)
    real, imaginary = ar @ xr - ai @ xi - br, ar @ xi + ai @ xr - bi
    return np.hypot(real.astype(float), imaginary.astype(float))


def test_every_side_up_to_70_beside_scipy() -> None:
    """Columns that are diagonally dominant: SciPy's, with pivoting, exchanges nothing."""
    for n in range(1, 71):
        a = dominant(n, n)
        unit = unit_of(16, FP64)
        found = eliminate(unit, a)
        order, low, high = linalg.lu(a)
        np.testing.assert_array_equal(order, np.eye(n))
        np.testing.assert_allclose(lower(found), low, atol=1e-13)
        np.testing.assert_allclose(upper(found), high, atol=1e-13 * n)
        assert unit.cost == costs.eliminate(n, 16)
        assert growth(a, found) <= 2


@pytest.mark.parametrize("n", [5, 16, 33])
def test_positive_definite_beside_cholesky(n: int) -> None:
    half = np.random.default_rng(n).standard_normal((n, n + 3))
    a, b = half @ half.T, half[:, :2]
    unit = unit_of(4, FP64)
    found = eliminate(unit, a)
    roots = np.sqrt(np.diag(found))
    np.testing.assert_allclose(lower(found) * roots, linalg.cholesky(a, lower=True), rtol=1e-9)
    assert growth(a, found) <= 1
    np.testing.assert_allclose(solve(unit, found, b), linalg.solve(a, b), rtol=1e-7)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from((FP32, FP64, COMPLEX64, COMPLEX)), st.integers(1, 11), st.integers(1, 5),
    st.booleans(), st.integers(0, 999),
)  # fmt: skip
def test_rounding_is_within_the_bounds(
    words: Floats, n: int, s: int, weak: bool, seed: int
) -> None:
    a = dominant(n, seed, words)
    unit = unit_of(s, words, weak)
    found = eliminate(unit, a)
    assert found.dtype == words.dtype
    assert np.all(distance(lower(found), upper(found), a) <= factors_error(found, words))
    b = a[:, :2] * 3 + 1
    x = solve(unit, found, b)
    assert np.all(distance(a, x, b) <= residual_error(found, x, words))
    assert factors_error(found, words).max() < 1e-3 * np.abs(a).max()  # it says something
    whole = costs.eliminate(n, s, weak) + costs.solve(n, b.shape[1])
    assert unit.cost == whole


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 999))
def test_residues_are_exact(n: int, s: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (np.tril(rng.integers(0, P, (n, n)), -1) for _ in range(2))
    low, high = low + np.eye(n, dtype=int), high.T + np.diag(rng.integers(1, P, n))
    a = (low.astype(object) @ high % P).astype(np.int64)
    unit = unit_of(s, modular(P))
    found = eliminate(unit, a)
    np.testing.assert_array_equal(found, np.tril(low, -1) + high)
    assert unit.cost == costs.eliminate(n, s, exact=True)
    b = rng.integers(0, P, n)
    assert (a.astype(object) @ solve(unit, found, b) % P).tolist() == b.tolist()


@pytest.mark.parametrize("s", [4, 8, 16])
def test_counts_are_those_of_the_theorem(s: int) -> None:
    for q in range(1, 9):
        a = dominant(q * s, q)
        unit = unit_of(s, FP64)
        eliminate(unit, a)
        calls = q * (q - 1) // 2
        assert unit.cost.calls == calls
        assert unit.unit_time == s * s * q * (q - 1) * (2 * q - 1) // 6
        assert unit.cost == costs.eliminate(q * s, s)
        assert unit.cost.work == costs.eliminate(q * s, s).work
        weak = unit_of(s, FP64, weak=True)
        eliminate(weak, a)
        squares = q * (q - 1) * (2 * q - 1) // 6
        assert weak.cost.work == UnitWork(squares, squares * s)
        assert weak.cost == costs.eliminate(q * s, s, weak=True)


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """n^1.5 / s subtractions beside n s words on blocks, n the number of entries; the second is
    the larger as long as sides are below m."""
    sides = [16 * 2**h for h in range(1, 6)]
    measured = []
    for n in sides[:3]:
        unit = unit_of(1, FP64)
        eliminate(unit, dominant(n, n))
        measured.append(unit.cost.cpu)
    assert fitted(sides[:3], measured) == pytest.approx(1.5, abs=0.05)
    large = [2**h for h in range(9, 13)]
    far = [costs.eliminate(n, 4).cpu for n in large]
    assert fitted(large, far) == pytest.approx(1.5, abs=0.05)
    near = [costs.eliminate(2**h, 512).cpu for h in range(14, 17)]
    assert fitted([2**h for h in range(14, 17)], near) < 1.25


def fitted(sides: Any, words: Any) -> float:
    """The exponent of words in the number of entries."""
    return float(np.polyfit(2 * np.log(sides), np.log(np.array(words, float)), 1)[0])


@pytest.mark.parametrize("row", [0, 3, 4, 6, 9])
def test_a_pivot_that_vanishes_is_named(row: int) -> None:
    """The row may be in any block: the rows up to it are dependent. In floats the remainder is
    rounding error."""
    a = dominant(10, 5)
    a[row, : row + 1] = a[:row, : row + 1].sum(axis=0) if row else 0
    with pytest.raises(PivotError) as error:
        eliminate(unit_of(4, FP64), a)
    assert error.value.row == row
    whole = np.round(a * 8).astype(int)
    whole[row, : row + 1] = whole[:row, : row + 1].sum(axis=0) if row else 0
    message = (
        f"the pivot of row {row} (of 0..9) must be other than 0, as no rows are exchanged"
    )  # fmt: skip
    with pytest.raises(PivotError, match=f"^{re.escape(message)}$"):
        eliminate(unit_of(4, modular(P)), whole)


def test_a_row_of_small_numbers_is_no_reason() -> None:
    a = dominant(6, 1) * 10.0 ** -np.arange(0, 60, 10)[:, None]
    found = eliminate(unit_of(4, FP64), a)
    np.testing.assert_allclose(lower(found) @ upper(found), a, rtol=1e-12)


def test_growth_of_a_small_pivot_is_reported() -> None:
    a = np.array([[1e-6, 1.0], [1.0, 1.0]])
    assert growth(a, eliminate(unit_of(1, FP64), a)) == pytest.approx(1e6)


@pytest.mark.parametrize(
    ("words", "a", "message"),
    [
        (INT64, np.eye(3, dtype=int), "words of eliminate must divide, which int64 does not"),
        (modular(15), np.eye(3, dtype=int), "words of eliminate must divide, which modular(15) "
         "does not"),
        (BOOLEAN, np.eye(3, dtype=int), "words of eliminate must subtract, which boolean does not"),
        (FP64, np.ones((3, 4)), "`a` must be a square matrix, not of shape (3, 4)"),
        (FP64, np.ones(4), "`a` must be a square matrix, not of shape (4,)"),
        (FP64, np.ones((0, 0)), "`a` must be a square matrix, not of shape (0, 0)"),
        (FP64, np.full((2, 2), np.inf), "`a` must hold finite numbers, not nan or inf"),
        (FP64, np.array([[1.0, 2], [2, 4]]), "the pivot of row 1 (of 0..1) must be above 8.88e-16 "
         "in magnitude, not 0, as no rows are exchanged"),
    ],
)  # fmt: skip
def test_refusals(words: Words, a: Array, message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        eliminate(unit, a)
    assert unit.cost == Cost() or "pivot" in message


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 0), (3, 1, 1)])
def test_other_right_sides_are_refused(shape: tuple[int, ...]) -> None:
    message = f"`b` must be of shape (3,) or (3, r), not {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solve(unit_of(4, FP64), np.eye(3), np.zeros(shape))
