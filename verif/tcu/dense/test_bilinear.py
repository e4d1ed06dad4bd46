"""Strassen-like algorithms as data: Brent's equations, other algorithms, refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.dense.bilinear import STANDARD, STRASSEN, Bilinear
from tilewright.sim.tcu.dense.recursive import recursive, standard, strassen
from tilewright.sim.tcu.dense.rounding import (
    gamma,
    in_squares_error,
    product_error,
    recursive_error,
)
from tilewright.sim.tcu.dense.tall import in_squares, rectangular, tall
from tilewright.sim.tcu.formulas import dense as costs
from tilewright.sim.tcu.formulas import dense as formulas
from tilewright.sim.tcu.theorems import STRASSEN_EXPONENT, product_bound
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
from tilewright.verif.tcu.reference_units import SIDES, unit_of

# Strassen's own seven products, as he wrote them: 18 additions.
OWN_LEFT = [[1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [-1, 0, 1, 0],
            [0, 1, 0, -1]]  # fmt: skip
OWN_RIGHT = [[1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0],
             [0, 0, 1, 1]]  # fmt: skip
OWN_RESULT = [[1, 0, 0, 1, -1, 0, 1], [0, 0, 1, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0, 0],
              [1, -1, 1, 0, 0, 1, 0]]  # fmt: skip


def own() -> Bilinear:
    return Bilinear.of_coefficients("own", OWN_LEFT, OWN_RIGHT, OWN_RESULT)


def squared() -> Bilinear:
    """Strassen's of 2 x 2 blocks of 2 x 2: 49 products for 4 x 4."""
    # Places of blocks (i, j) of the outer, (k, m) of the inner: row 2 i + k, column 2 j + m.
    places = [(2 * i + k) * 4 + 2 * j + m for i, j, k, m in product(range(2), repeat=4)]
    back = np.argsort(places)
    left, right = (np.kron(one, one)[:, back] for one in map(np.array, (OWN_LEFT, OWN_RIGHT)))
    result = np.kron(OWN_RESULT, OWN_RESULT)[back]
    return Bilinear.of_coefficients("squared", left.tolist(), right.tolist(), result.tolist())


def cubes() -> Bilinear:
    """The standard one of 3 x 3 blocks."""
    places = list(product(range(3), repeat=3))
    left, right, result = np.zeros((27, 9), int), np.zeros((27, 9), int), np.zeros((9, 27), int)
    for p, (i, j, k) in enumerate(places):
        left[p, 3 * i + k] = right[p, 3 * k + j] = result[3 * i + j, p] = 1
    return Bilinear.of_coefficients("cubes", left.tolist(), right.tolist(), result.tolist())


def test_additions_of_blocks_a_level() -> None:
    assert (STANDARD.additions, STRASSEN.additions, own().additions) == (4, 15, 18)
    assert (STANDARD.subtracts, STRASSEN.subtracts, cubes().subtracts) == (False, True, False)
    assert [len(one.products) for one in (STANDARD, STRASSEN, own(), squared())] == [8, 7, 7, 49]


@pytest.mark.parametrize("make", [own, squared, cubes])
def test_others_multiply(make: Any) -> None:
    scheme = make()
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 8, 13, 19):
        a, b = rng.integers(-99, 99, (2, n, n))
        unit = TensorUnit(NumpyBackend(2), INT64)
        np.testing.assert_array_equal(recursive(unit, scheme, a, b), a @ b)
        products = len(scheme.products)
        assert unit.cost.work == formulas.recursive(n, 2, products, 0, scheme.side).work


def test_negated_terms_and_copies_are_charged() -> None:
    """A block that is negated costs its additions, one that is copied its moves."""
    turned = replace(
        STANDARD,
        name="turned",
        operand_sums=("N = -A11", "M = A12"),
        products=("P1 = N B11", "P2 = M B21", *STANDARD.products[2:]),
        result_sums=("C11 = -P1 + P2", *STANDARD.result_sums[1:]),
    )
    unit = TensorUnit(NumpyBackend(2), INT64)
    a = np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(recursive(unit, turned, a, a), a @ a)
    assert (unit.cost.cpu_adds, unit.cost.cpu_moves) == (5 * 4, 4)


def test_words_that_do_not_subtract_take_those_that_need_not() -> None:
    a = np.eye(6, dtype=bool)[::-1]
    np.testing.assert_array_equal(
        recursive(TensorUnit(NumpyBackend(2), BOOLEAN), cubes(), a, a), np.eye(6, dtype=bool)
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"side": 1}, "`side` must be in 2..9, not 1"),
        ({"side": 10}, "`side` must be in 2..9, not 10"),
        ({"result_sums": STANDARD.result_sums[:3]}, "standard has no value 'C22'"),
        ({"result_sums": ("C11 = P1 - P2", *STANDARD.result_sums[1:])},
         "the results of standard are not those of a product of matrices"),
        ({"result_sums": ("C11 = P1 * P2", *STANDARD.result_sums[1:])},
         "statements must be like 'S = A11 - A12', not 'C11 = P1 * P2'"),
        ({"products": ("P1 = A11", *STANDARD.products[1:])},
         "products must be like 'P = S T', not 'P1 = A11'"),
        ({"operand_sums": ("S = A11 + B11",), "products": ("P1 = S B11", *STANDARD.products[1:])},
         "the results of standard are not those of a product of matrices"),
        ({"products": ("P1 = B11 A11", *STANDARD.products[1:])},
         "the results of standard are not those of a product of matrices"),
    ],
)  # fmt: skip
def test_what_is_no_product_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        replace(STANDARD, **changes)


def test_other_coefficients_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^coefficients must be -1, 0 or 1$"):
        Bilinear.of_coefficients("twice", [[2, 0, 0, 1]], [[1, 0, 0, 0]], [[1], [0], [0], [0]])


# Products of any shape in squares: results, counts beside formulas, errors beside fractions.

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
    """Squares that fit need one recursion for each pair of a square of A and a square of B."""
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


# Errors of products of floats, against fractions, beside the stated bounds.

SOME = (FP32, FP64, COMPLEX64)


def parts(x: Array) -> tuple[Array, Array]:
    exact = np.vectorize(Fraction, otypes=[object])
    return exact(np.real(x).astype(float)), exact(np.imag(x).astype(float))


def errors(found: Array, a: Array, b: Array) -> Array:
    """Distances from the product in fractions."""
    (ar, ai), (br, bi), (cr, ci) = parts(a), parts(b), parts(found)
    real, imaginary = cr - (ar @ br - ai @ bi), ci - (ar @ bi + ai @ br)
    return np.hypot(real.astype(float), imaginary.astype(float))


def drawn(words: Floats, seed: int, *shape: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)
    if words.dtype.kind == "c":
        return words.array(x + 1j * rng.standard_normal(shape))
    return words.array(x)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from((FP32, FP64, COMPLEX64, COMPLEX)),
    st.tuples(*[st.integers(1, 12)] * 3), st.integers(1, 5), st.integers(0, 999),
)  # fmt: skip
def test_blocks_are_within_the_bound(
    words: Floats, shape: tuple[int, int, int], s: int, seed: int
) -> None:
    n, k, p = shape
    a, b = drawn(words, seed, n, k), drawn(words, seed + 1, k, p)
    found = rectangular(TensorUnit(NumpyBackend(s), words), a, b)
    assert found.dtype == words.dtype
    assert np.all(errors(found, a, b) <= product_error(a, b, words))


@pytest.mark.parametrize("scheme", [STANDARD, STRASSEN], ids=lambda one: one.name)
@pytest.mark.parametrize("words", SOME, ids=lambda words: words.name)
def test_recursion_is_within_the_bound(scheme: Bilinear, words: Floats) -> None:
    for n, s in ((4, 4), (7, 2), (16, 2), (24, 4), (16, 1)):
        a, b = drawn(words, n, n, n), drawn(words, n + 1, n, n)
        found = recursive(TensorUnit(NumpyBackend(s), words), scheme, a, b)
        largest = float(np.abs(a).max()) * float(np.abs(b).max())
        bound = recursive_error(scheme, n, s, words) * largest
        worst = errors(found, a, b).max()
        assert worst <= bound
        assert bound < largest * 0.1  # it says something


def test_strassens_bound_grows_faster() -> None:
    """About 18 times a level (Higham, chapter 23), where that of the standard recursion doubles as
    elements of the product do."""
    for scheme, ratio in ((STANDARD, 2), (STRASSEN, 18)):
        far = [recursive_error(scheme, n, 4, FP64) for n in (2**14, 2**15)]
        assert far[1] / far[0] == pytest.approx(ratio, rel=0.1)
    assert recursive_error(STANDARD, 4, 4, FP64) == 4 * gamma(4, FP64)


# Theorem 12: time on a weak unit is never below what a memory of 3 m words must move.


@pytest.mark.parametrize("s", [1, 2, 4, 8, 16])
def test_measured_time_is_never_below(s: int) -> None:
    for n in (s, 2 * s, 3 * s, 4 * s, 5 * s + 1, 8 * s):
        a = np.arange(n * n).reshape(n, n) % 7
        bound = product_bound(n, s)
        assert bound == pytest.approx((n * n) ** 1.5 / (3 * s * s) ** 0.5)
        for algorithm in (tall, standard):
            unit = TensorUnit(NumpyBackend(s), INT64, weak=True)
            algorithm(unit, a, a)
            assert unit.unit_time >= bound
            assert unit.cost.rows == s * unit.cost.calls
        unit = TensorUnit(NumpyBackend(s), INT64, weak=True)
        strassen(unit, a, a)
        assert unit.unit_time >= product_bound(n, s, STRASSEN_EXPONENT)


def test_formulas_stay_above_at_any_size() -> None:
    for s in (4, 16, 256):
        for n in (s, 3 * s + 1, 100 * s, 1000 * s + 5):
            assert formulas.tall(n, s, weak=True).unit_time(s) >= product_bound(n, s)
            assert formulas.standard(n, s).unit_time(s) >= product_bound(n, s)
            fewer = product_bound(n, s, STRASSEN_EXPONENT)
            assert formulas.strassen(n, s).unit_time(s) >= fewer


def test_strassen_falls_below_the_bound_of_the_others() -> None:
    """Subtraction breaks the bound, from 32 blocks a side on."""
    for blocks, below in ((16, False), (32, True), (64, True)):
        time = formulas.strassen(4 * blocks, 4).unit_time(4)
        assert (time < product_bound(4 * blocks, 4)) == below
