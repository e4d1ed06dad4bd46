"""Products of any shape in squares: results, counts beside formulas, errors beside fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, UnitWork
from tilewright.sim.tcu.dense.bilinear import Bilinear
from tilewright.sim.tcu.dense.recursive import recursive
from tilewright.sim.tcu.dense.rounding import in_squares_error, recursive_error
from tilewright.sim.tcu.dense.schemes import STANDARD, STRASSEN
from tilewright.sim.tcu.dense.squares import in_squares
from tilewright.sim.tcu.formulas import dense as costs
from tilewright.sim.tcu.words import BOOLEAN, FP32, FP64, INT64, Words, modular
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.tcu.reference_units import SIDES, unit_of

SIZES = {STANDARD: (8, 4), STRASSEN: (7, 15)}
SCHEMES = pytest.mark.parametrize("scheme", SIZES, ids=lambda one: one.name)


@SCHEMES
@settings(deadline=None, max_examples=60)
@given(shape=st.tuples(*[st.integers(1, 40)] * 3), s=st.integers(1, 9), weak=st.booleans(),
       words=st.sampled_from((INT64, modular(997))))  # fmt: skip
def test_any_shape(
    scheme: Bilinear, shape: tuple[int, int, int], s: int, weak: bool, words: Words
) -> None:
    n, k, p = shape
    s = max(s, min(shape) // 4)
    rng = np.random.default_rng(n * k + p)
    a, b = words.array(rng.integers(-99, 99, (n, k))), words.array(rng.integers(-99, 99, (k, p)))
    unit = unit_of(s, words, weak)
    exact = a.astype(object) @ b.astype(object)
    expected = exact if words is INT64 else exact % 997
    assert in_squares(unit, scheme, a, b).tolist() == expected.tolist()
    products, additions = SIZES[scheme]
    assert unit.cost == costs.in_squares(n, k, p, s, products, additions)


@SCHEMES
@pytest.mark.parametrize("s", SIDES)
def test_counts_are_those_of_the_corollary(scheme: Bilinear, s: int) -> None:
    """Of squares that fit: as many recursions as squares of A meet squares of B."""
    products, additions = SIZES[scheme]
    for h, down, deep, across in (
        (0, 1, 2, 3), (0, 3, 1, 2), (1, 1, 3, 2), (1, 2, 2, 1), (0, 1, 1, 5), (1, 1, 1, 1),
        (0, 2, 1, 1), (1, 3, 1, 1),
    ):  # fmt: skip
        side = s * 2**h
        n, k, p = (side * count for count in (down, deep, across))
        unit = unit_of(s)
        a, b = np.arange(n * k).reshape(n, k), np.arange(k * p).reshape(k, p) % 7
        np.testing.assert_array_equal(in_squares(unit, scheme, a, b), a @ b)
        calls = down * deep * across * products**h
        assert unit.cost.work == UnitWork(calls, calls * s)
        within = down * deep * across * h * additions * s * s
        assert unit.cost == Cost(calls, calls * s, cpu_adds=within + (deep - 1) * n * p)


@SCHEMES
def test_squares_cost_what_the_recursion_does(scheme: Bilinear) -> None:
    for n in (1, 4, 5, 11, 16):
        a = np.arange(n * n).reshape(n, n)
        one, other = unit_of(4), unit_of(4)
        np.testing.assert_array_equal(in_squares(one, scheme, a, a), recursive(other, scheme, a, a))
        assert one.cost == other.cost


@SCHEMES
@pytest.mark.parametrize("words", [FP32, FP64], ids=lambda words: words.name)
def test_errors_are_within_the_bound(scheme: Bilinear, words: Floats) -> None:
    exact = np.vectorize(Fraction, otypes=[object])
    for n, k, p, s in ((5, 17, 9, 4), (8, 33, 8, 2), (16, 16, 16, 4), (3, 40, 2, 1)):
        rng = np.random.default_rng(k)
        a, b = (words.array(rng.standard_normal(shape)) for shape in ((n, k), (k, p)))
        found = in_squares(unit_of(s, words), scheme, a, b)
        true = exact(a.astype(float)) @ exact(b.astype(float))
        worst = np.abs(exact(found.astype(float)) - true).max()
        largest = float(np.abs(a).max()) * float(np.abs(b).max())
        cut = costs.squares(n, k, p, s)
        bound = in_squares_error(scheme, cut, s, words) * largest
        assert 0 < worst <= bound < 0.1 * largest
        if cut.deep == 1:
            assert bound == recursive_error(scheme, cut.side, s, words) * largest


def test_refusals() -> None:
    unit = unit_of(4, BOOLEAN)
    wide = np.ones((3, 5), bool)
    message = "^words of strassen must subtract, which boolean does not$"
    with pytest.raises(ValueError, match=message):
        in_squares(unit, STRASSEN, wide, wide.T)
    assert in_squares(unit, STANDARD, wide, wide.T).all()
    message = r"^`a` and `b` must be matrices \(n, k\) and \(k, p\), not of shapes"
    with pytest.raises(ValueError, match=message):
        in_squares(unit, STANDARD, wide, wide)
