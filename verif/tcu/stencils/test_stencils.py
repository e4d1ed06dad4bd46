"""Stencils: results beside sweeps in Python's integers and SciPy's, counts beside costs."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import correlate
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit
from tilewright.sim.tcu.formulas import stencils as costs
from tilewright.sim.tcu.formulas.transform import (
    COMPLEX_WORDS,
    INTEGERS,
    REALS,
    RESIDUES,
    fast_length,
    smooth_part,
)
from tilewright.sim.tcu.stencils.linear import (
    exact_fields,
    power,
    stencil,
    stencil_error,
    sweeps_error,
)
from tilewright.sim.tcu.transform.complex_numbers import ComplexNumbers
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    FP32,
    FP64,
    INT64,
    Array,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import unit_of
from tilewright.verif.tcu.stencils.sweeps import swept

P = 998244353
BOTH = ("periodic", "open")


@settings(deadline=None, max_examples=40)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)), st.integers(1, 9), st.integers(2, 9),
    st.sampled_from(BOTH), st.booleans(), st.integers(0, 99),
)  # fmt: skip
def test_integers_exactly(
    shape: tuple[int, int], k: int, s: int, boundary: str, weak: bool, seed: int
) -> None:
    """Grids have any shape, with sides below and above the number of sweeps, which is even or
    odd."""
    rng = np.random.default_rng(seed)
    grid, weights = rng.integers(-9, 10, shape), rng.integers(-3, 4, (3, 3))
    unit = unit_of(s, weak=weak)
    found = stencil(unit, grid, weights, k, boundary)
    assert found.dtype == np.int64
    assert found.tolist() == swept(grid.astype(object), weights, k, boundary).tolist()
    order, number = fast_length(3 * k, s), INTEGERS
    primes = len(exact_fields(unit, grid, weights, k))
    assert unit.cost.work == costs.linear(*shape, k, s, weak, number, order).work * primes
    if shape[0] == shape[1]:
        assert unit.cost == costs.stencil_exact(shape[0], k, primes, s, weak)


@pytest.mark.parametrize("boundary", BOTH)
def test_residues_exactly(boundary: str) -> None:
    rng = np.random.default_rng(1)
    for shape, k, s in (((5, 8), 3, 4), ((12, 12), 8, 4), ((7, 7), 7, 16), ((3, 3), 5, 2)):
        grid, weights = rng.integers(0, P, shape), rng.integers(0, P, (3, 3))
        unit = unit_of(s, modular(P))
        found = stencil(unit, grid, weights, k, boundary)
        expected = swept(grid.astype(object), weights.astype(object), k, boundary) % P
        assert found.tolist() == expected.tolist()
        order = smooth_part(P - 1, s)
        assert unit.cost == costs.linear(*shape, k, s, False, RESIDUES, order)
        assert unit.cost.work == costs.linear(*shape, k, s, False, RESIDUES, order).work


def test_periodic_sweeps_are_scipys() -> None:
    rng = np.random.default_rng(2)
    grid, weights = rng.standard_normal((24, 31)), rng.standard_normal((3, 3)) / 4
    for words, tolerance in ((FP64, 1e-11), (FP32, 1e-3), (COMPLEX, 1e-11)):
        expected = grid
        for k in range(1, 12):
            expected = correlate(expected, weights, mode="wrap")
            found = stencil(unit_of(4, words), words.array(grid), words.array(weights), k)
            assert found.dtype == words.dtype
            np.testing.assert_allclose(found, expected, atol=tolerance)


def test_complex_grids() -> None:
    rng = np.random.default_rng(3)
    grid, weights = rng.standard_normal((2, 9, 9)), rng.standard_normal((2, 3, 3))
    grid, weights = grid[0] + 1j * grid[1], weights[0] + 1j * weights[1]
    found = stencil(unit_of(4, COMPLEX), grid, weights, 4, "open")
    expected = swept(grid, weights, 4, "open").astype(complex)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("s", slow_but([4], among=(4, 8, 16)))
def test_counts_are_the_formulas(s: int) -> None:
    for n, k in ((1, 1), (8, 2), (9, 3), (16, 4), (20, 5), (12, 8), (17, 7), (30, 6), (24, 12)):
        for words, number in ((FP64, REALS), (COMPLEX, COMPLEX_WORDS)):
            for weak in (False, True):
                unit = unit_of(s, words, weak)
                stencil(unit, np.ones((n, n)), np.ones((3, 3)), k)
                assert unit.cost.work == costs.linear(n, n, k, s, weak, number).work
                assert unit.cost == costs.linear(n, n, k, s, weak, number)
                assert unit.cost.fused_calls == 0
        assert costs.stencil(n, k, s).work == costs.linear(n, n, k, s).work
        assert costs.stencil(n, k, s) == costs.linear(n, n, k, s)


def test_two_blocks_of_real_words_are_one_plane() -> None:
    """Half the rows of complex words times four calls."""
    real, complex_ = (costs.linear(512, 512, 8, 8, False, one) for one in (REALS, COMPLEX_WORDS))
    of_weights = costs.power(8, 8, False, COMPLEX_WORDS)
    assert real.calls == 4 * complex_.calls
    assert 1.99 < (real.rows - 4 * of_weights.rows) / (complex_.rows - of_weights.rows) < 2.01


def test_calls_do_not_grow_with_blocks() -> None:
    """All blocks share calls. Those for the weights are O(log k) transforms of O(log_s k) levels:
    more than the paper's O(log k) calls."""
    for k in (4, 16):
        few, many = (costs.stencil(n, k, 16).calls for n in (k, 1000 * k))
        assert few == many
    # Squares of 2^h: h - 1 of them, 16 calls a level, of which there is one more every fourth.
    calls = [costs.power(2**h, 16).calls for h in (8, 16, 32)]
    assert all(3 < later / earlier < 4 for earlier, later in pairwise(calls))


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """n log_s k words, n cells: measured, and by the formula far beyond what runs."""
    measured = []
    for n in (64, 128, 256):
        unit = unit_of(4, COMPLEX)
        stencil(unit, np.ones((n, n)), np.ones((3, 3)), 4)
        measured.append(unit.cost.cpu)
    assert fitted([64**2, 128**2, 256**2], measured) == pytest.approx(1, abs=0.05)
    large = [2**h for h in range(10, 20)]
    far = [costs.stencil(n, 64, 16).cpu for n in large]
    assert fitted([n * n for n in large], far) == pytest.approx(1, abs=0.005)
    # In k: levels, log_s (3 k), are what grows.
    sweeps = [4**h for h in range(3, 9)]
    levels = [costs.stencil(2**24, k, 4).cpu / np.log(3 * k) for k in sweeps]
    assert fitted(sweeps, levels) == pytest.approx(0, abs=0.05)


def fitted(sizes: list[int], words: list[Any]) -> float:
    return float(np.polyfit(np.log(np.array(sizes, float)), np.log(np.array(words, float)), 1)[0])


def test_sweeps_at_once_take_less_than_one_by_one_from_some_number_on() -> None:
    """This holds for the words of the CPU; the time of the unit is added to them."""
    at_once = [costs.stencil(4096, k, 16).cpu for k in (16, 1024)]
    by_one = [costs.sweeps(4096, k).cpu for k in (16, 1024)]
    assert at_once[0] > by_one[0]
    assert at_once[1] < by_one[1]
    assert by_one[0] == 16 * 17 * 4096**2


def test_weights_of_many_sweeps_are_the_power() -> None:
    weights = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0.5]])
    ring = ComplexNumbers(FP64)
    by_products = {1: weights}
    for k in range(2, 14):
        last, wide = by_products[k - 1], np.zeros((2 * k + 1, 2 * k + 1))
        for i in range(3):
            for j in range(3):
                wide[i : i + 2 * k - 1, j : j + 2 * k - 1] += weights[i, j] * last
        by_products[k] = wide
    for k, expected in by_products.items():
        unit = unit_of(4, FP64)
        found = power(unit, ring, ring.array(weights), k)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert unit.cost == costs.power(k, 4)
        assert unit.cost.work == costs.power(k, 4).work


def test_blocks_outside_are_not_zero_on_a_periodic_grid() -> None:
    """The paper promises periodic stencils, and takes zeros for blocks outside: that is the open
    plane, and differs from the first sweep on."""
    grid, weights = np.ones((4, 4), int), np.ones((3, 3), int)
    periodic, opened = (stencil(unit_of(4), grid, weights, 2, one) for one in BOTH)
    assert periodic.tolist() == (81 * grid).tolist()
    assert opened[0, 0] == 36
    assert opened.tolist() == swept(grid.astype(object), weights, 2, "open").tolist()


def test_overflows_are_told() -> None:
    grid, weights = np.full((4, 4), 1000), np.full((3, 3), 1000)
    message = "words must have 70 bits to hold the result, not 64"
    with pytest.raises(WordOverflow, match=f"^{message}$"):
        stencil(unit_of(4), np.full((4, 4), 2**30), np.full((3, 3), 2**16), 2)
    with pytest.raises(ValueError, match=r"^primes of at most 23, as int12 and a unit of side 4 "):
        stencil(unit_of(4, integer(12)), grid, weights, 2)


GRID, WEIGHTS = np.ones((4, 4)), np.ones((3, 3))


@pytest.mark.parametrize(
    ("words", "arguments", "error", "message"),
    [
        (FP64, (GRID, WEIGHTS, 0), ValueError, "`steps` must be 1 or more, not 0"),
        (FP64, (GRID, WEIGHTS, 1.5), TypeError, "`steps` must be an integer, not float"),
        (FP64, (GRID, WEIGHTS, True), TypeError, "`steps` must be an integer, not bool"),
        (FP64, (GRID, WEIGHTS, 2, "fixed"), ValueError, "`boundary` must be periodic or open, not "
         "'fixed'"),
        (FP64, (GRID, np.ones((3, 5)), 2), ValueError, "`weights` must be of shape (3, 3), not "
         "(3, 5)"),
        (FP64, (np.ones(4), WEIGHTS, 2), ValueError, "`grid` must be a matrix, not empty, not of "
         "shape (4,)"),
        (FP64, (np.ones((0, 4)), WEIGHTS, 2), ValueError, "`grid` must be a matrix, not empty, not "
         "of shape (0, 4)"),
        (BOOLEAN, (GRID, WEIGHTS, 2), ValueError, "words of a stencil must be fp32 or fp64 or "
         "complex64 or complex or int64 or modular, not boolean"),
        (INT64, (GRID, WEIGHTS, 2), TypeError, "words of int64 must be integers, not float64"),
        (modular(7), (np.ones((4, 4), int), np.ones((3, 3), int), 4), ValueError, "roots must be "
         "of an order of 12 or more, with factors of at most 4, which does not divide 6"),
    ],
)  # fmt: skip
def test_refusals(words: Words, arguments: Any, error: type[Exception], message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        stencil(unit, *arguments)
    assert unit.cost == Cost()


def test_a_unit_of_one_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^`s` must be 2 or more for transforms, not 1$"):
        stencil(unit_of(1), np.ones((4, 4), int), np.ones((3, 3), int), 2)


# Bounds of stencils of floats, beside sweeps in fractions.


def exact(x: Array) -> Array:
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(x)


@pytest.mark.parametrize("boundary", ["periodic", "open"])
@pytest.mark.parametrize(
    "words", slow_but([FP64], among=(FP32, FP64, COMPLEX)), ids=lambda words: words.name
)
def test_stencils_are_within_the_bound(words: Floats, boundary: str) -> None:
    rng = np.random.default_rng(5)
    for k, s, shape in ((1, 4, (4, 5)), (2, 4, (5, 5)), (5, 2, (6, 4)), (8, 16, (8, 3))):
        real = FP32 if words is FP32 else FP64
        grid = real.array(rng.standard_normal(shape))
        for weights in (rng.standard_normal((3, 3)), rng.random((3, 3)) / 9):
            taps = real.array(weights)
            found = stencil(
                TensorUnit(NumpyBackend(s), words), words.array(grid), words.array(taps), k,
                boundary,
            )  # fmt: skip
            true = swept(exact(grid), exact(taps), k, boundary)
            total = float(np.abs(taps).sum())
            error = stencil_error(total, k, s, words)
            worst = float(np.abs(exact(found.real) - true).max())
            assert worst <= error * float(np.abs(grid).max())
            if words is COMPLEX:
                assert np.abs(found.imag).max() <= error * float(np.abs(grid).max())
            # It says something: of weights that sum to one, thousands of roundings.
            assert error < 3e5 * k * k * words.roundoff * total**k


def test_sweeps_one_by_one_are_within_theirs() -> None:
    rng = np.random.default_rng(6)
    grid, weights = rng.standard_normal((2, 6, 6))
    weights = weights[:3, :3]
    cells = grid
    for _ in range(6):
        after = np.zeros_like(cells)
        for x in (-1, 0, 1):
            for y in (-1, 0, 1):
                after += weights[1 + x, 1 + y] * np.roll(cells, (-x, -y), (0, 1))
        cells = after
    true = swept(exact(grid), exact(weights), 6, "periodic")
    worst = float(np.abs(exact(cells) - true).max())
    bound = sweeps_error(float(np.abs(weights).sum()), 6, FP64) * float(np.abs(grid).max())
    assert 0 < worst <= bound


def test_bounds_grow_slowly_with_sweeps() -> None:
    """Weights that sum to one: about as k cubed, not as powers of something."""
    errors = [stencil_error(1.0, k, 16, FP64) for k in (8, 64, 512)]
    assert all(later / earlier < 8**3.5 for earlier, later in pairwise(errors))
    assert errors[2] < 2e-4
