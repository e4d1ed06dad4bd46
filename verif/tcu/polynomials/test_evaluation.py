"""Polynomials at many points: Horner's rule, counts beside formulas, work of the CPU, refusals."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, UnitWork
from tilewright.sim.tcu.formulas import polynomials as costs
from tilewright.sim.tcu.polynomials.evaluation import polyval
from tilewright.sim.tcu.polynomials.rounding import polyval_error
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Array,
    WordOverflow,
    Words,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import SIDES, unit_of

P = 998244353


def horner(a: list[Any], x: Any) -> Any:
    found = 0 * x
    for one in reversed(a):
        found = found * x + one
    return found


def test_every_number_of_coefficients_and_of_points_up_to_70() -> None:
    """Modulo a prime: nothing overflows."""
    rng = np.random.default_rng(1)
    for n in range(1, 71):
        for d, p in ((n, 71 - n), (n, n)):
            a, x = rng.integers(0, P, d), rng.integers(0, P, p)
            unit = unit_of(4, modular(P))
            expected = [horner(a.tolist(), int(one)) % P for one in x]
            assert polyval(unit, a, x).tolist() == expected
            assert unit.cost == costs.polyval(d, p, 4)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(-99, 99), min_size=1, max_size=14),
    st.lists(st.integers(-9, 9), min_size=1, max_size=30),
    st.integers(1, 9), st.booleans(),
)  # fmt: skip
def test_small_integers(a: list[int], x: list[int], s: int, weak: bool) -> None:
    unit = unit_of(s, INT64, weak)
    assert polyval(unit, np.array(a), np.array(x)).tolist() == [horner(a, one) for one in x]
    assert unit.cost == costs.polyval(len(a), len(x), s, weak)
    assert unit.cost.work == costs.polyval(len(a), len(x), s, weak).work


def exact(number: Any) -> tuple[Fraction, Fraction]:
    return Fraction(float(number.real)), Fraction(float(number.imag))


def in_fractions(a: Array, x: Any) -> tuple[Fraction, Fraction]:
    re_, im = Fraction(0), Fraction(0)
    c, e = exact(x)
    for one in a[::-1]:
        b, f = exact(one)
        re_, im = re_ * c - im * e + b, re_ * e + im * c + f
    return re_, im


@pytest.mark.parametrize("words", [FP32, FP64, COMPLEX64, COMPLEX], ids=lambda words: words.name)
def test_floats_are_within_the_bound(words: Floats) -> None:
    """The reference is Horner's rule in fractions, at points on both sides of 1, with cancelling
    terms and with powers that are too small for the words."""
    rng = np.random.default_rng(2)
    for d, s in ((1, 4), (3, 4), (16, 4), (40, 4), (33, 2), (70, 8), (20, 16)):
        a = rng.standard_normal(d) * 10.0 ** rng.integers(-3, 4, d)
        x = np.concatenate([rng.uniform(-1.3, 1.3, 6), [0, 1, -1, 1e-9, -1e-3, 3e-20]])
        if words.dtype.kind == "c":
            a, x = a + 1j * rng.standard_normal(d), x * np.exp(1j * np.arange(len(x)))
        a, x = words.array(a), words.array(x)
        unit = unit_of(s, words)
        bounds = polyval_error(a, x, s, words)
        for found, point, bound in zip(polyval(unit, a, x), x, bounds, strict=True):
            true, seen = in_fractions(a, point), exact(found)
            error = sum(((seen[i] - true[i]) ** 2 for i in (0, 1)), Fraction(0))
            assert error <= Fraction(float(bound)) ** 2
        # It says something.
        sizes = np.array([horner(np.abs(a).tolist(), float(abs(one))) for one in x])
        assert np.all(bounds <= 1e4 * words.roundoff * sizes)


def test_terms_that_cancel_come_close_to_the_bound() -> None:
    """(x - 1)^20 near 1: values far below their terms, errors that the bound is not far above."""
    a = np.array([1.0])
    for _ in range(20):
        a = np.convolve(a, [-1.0, 1.0])
    x = 1 + np.arange(-20, 20) / 1024
    found, bounds = polyval(unit_of(4, FP64), a, x), polyval_error(a, x, 4, FP64)
    errors = [abs(Fraction(float(one)) - in_fractions(a, point)[0])
              for one, point in zip(found, x, strict=True)]  # fmt: skip
    shares = [float(error) / bound for error, bound in zip(errors, bounds, strict=True)]
    assert 0.005 < max(shares) <= 1


@pytest.mark.parametrize("words", [BOOLEAN, MINPLUS], ids=lambda words: words.name)
def test_any_semiring_will_do(words: Words) -> None:
    rng = np.random.default_rng(3)
    for d, p in ((1, 1), (9, 20), (23, 7)):
        if words is BOOLEAN:
            a, x = rng.random(d) < 0.3, rng.random(p) < 0.5
            expected = [bool(a[0] or (one and a.any())) for one in x]
        else:
            a, x = rng.integers(0, 99, d).astype(float), rng.integers(0, 9, p).astype(float)
            expected = [(a + one * np.arange(d)).min() for one in x]
        assert polyval(unit_of(4, words), a, x).tolist() == expected


@pytest.mark.parametrize("s", SIDES)
def test_counts_are_those_of_the_theorem(s: int) -> None:
    for q in range(1, 9):
        d, p = q * s * s, 8 * s + q
        unit = unit_of(s, modular(P))
        polyval(unit, np.ones(d, int), np.ones(p, int))
        assert unit.cost.work == costs.polyval(d, p, s).work == UnitWork(q, q * p)
        assert unit.unit_time == p * d // s
        columns = d // s - 1
        assert unit.cost == Cost(q, q * p, 0, columns * p, (s - 2 + 2 * columns) * p, 2 * p)
        assert unit.cost == costs.polyval(d, p, s)


@pytest.mark.parametrize("s", slow_but([4], among=(1, 2, *SIDES)))
def test_counts_of_other_sizes_are_the_formulas(s: int) -> None:
    for d, p in ((1, 1), (2, 3), (s, s), (s + 1, s - 1 or 1), (3 * s, 70), (s * s, 2 * s + 1),
                 (s * s + 1, 5), (2 * s * s + s + 1, 3 * s), (300, 40)):  # fmt: skip
        for weak in (False, True):
            unit = unit_of(s, modular(P), weak)
            a, x = np.arange(d), np.arange(p) + 2
            expected = [horner(a.tolist(), int(one)) % P for one in x]
            assert polyval(unit, a, x).tolist() == expected
            assert unit.cost == costs.polyval(d, p, s, weak)
            assert unit.cost.work == costs.polyval(d, p, s, weak).work
            assert unit.cost.fused_calls == 0


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """p s + 3 p d / s words: exponent 1 in points, and in coefficients far above m."""
    for sizes in (
        [(512, p) for p in (100, 1000, 4000)],
        [(d, 64) for d in (1024, 4096, 16384)],
    ):
        measured = []
        for d, p in sizes:
            unit = unit_of(4, modular(P))
            polyval(unit, np.ones(d, int), np.ones(p, int))
            measured.append(unit.cost.cpu)
        grown = [d * p for d, p in sizes]
        assert np.polyfit(np.log(grown), np.log(measured), 1)[0] == pytest.approx(1, abs=0.05)
    d, p, s = 2**24, 2**20, 16
    assert costs.polyval(d, p, s).cpu / (p * s + 3 * p * d / s) == pytest.approx(1, abs=0.001)


def test_overflows_are_told() -> None:
    ones = np.ones(6, int)
    for x, bits in ((2**16, 66), (-(2**40), 82)):
        with pytest.raises(WordOverflow, match=f"^words must have {bits} bits to hold the result"):
            polyval(unit_of(4, INT64), ones, np.array([x]))
    # A power that is not wanted does not.
    assert polyval(unit_of(4, INT64), ones[:2], np.array([2**40])).tolist() == [2**40 + 1]
    assert polyval(unit_of(4, FP64), np.ones(2), np.array([1e200])).tolist() == [1e200]


@pytest.mark.parametrize(
    ("a", "x", "error", "message"),
    [
        ([[1.0]], [1.0], ValueError, "`coefficients` must be a vector, not empty, not of shape "
         "(1, 1)"),
        ([], [1.0], ValueError, "`coefficients` must be a vector, not empty, not of shape (0,)"),
        ([1.0], [], ValueError, "`points` must be a vector, not empty, not of shape (0,)"),
        ([1.0], [1j], TypeError, "words of fp64 must be real numbers, not complex128"),
    ],
)  # fmt: skip
def test_refusals(a: Any, x: Any, error: type[Exception], message: str) -> None:
    unit = unit_of(4, FP64)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        polyval(unit, np.array(a), np.array(x))
    assert unit.cost == Cost()
