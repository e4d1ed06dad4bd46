"""Products of dense matrices: results, counts beside formulas, work of the CPU, refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.dense.bilinear import STRASSEN
from tilewright.sim.tcu.dense.recursive import recursive, standard, strassen
from tilewright.sim.tcu.dense.tall import rectangular, tall
from tilewright.sim.tcu.formulas import dense as costs
from tilewright.sim.tcu.words import (
    BOOLEAN,
    FP64,
    INT64,
    MINPLUS,
    Array,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import SIDES, unit_of

pytestmark = pytest.mark.quick

Algorithm = Callable[[TensorUnit, Array, Array], Array]
SQUARE: tuple[Algorithm, ...] = (tall, standard, strassen)
WORDS: tuple[Words, ...] = (INT64, modular(998244353), BOOLEAN, MINPLUS)


def drawn(words: Words, seed: int, *shape: int) -> Array:
    rng = np.random.default_rng(seed)
    if words is BOOLEAN:
        return rng.random(shape) < 0.2
    if words is MINPLUS:
        return np.where(rng.random(shape) < 0.3, np.inf, rng.integers(0, 100, shape))
    return words.array(rng.integers(-1000, 1000, shape))


def expected(words: Words, a: Array, b: Array) -> Array:
    """Computes the product by its definition; words that are integers use Python's integers."""
    if words is BOOLEAN:
        return np.asarray((a[:, :, None] & b[None]).any(axis=1))
    if words is MINPLUS:
        return np.asarray((a[:, :, None] + b[None]).min(axis=1))
    exact = a.astype(object) @ b.astype(object)
    return exact % words.modulus if words.kind == "modular" else exact  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        pytest.param(
            algorithm,
            words,
            id=f"{algorithm.__name__}-{words.name}",
            marks=[] if words in (INT64, BOOLEAN) else pytest.mark.slow,
        )
        for algorithm in SQUARE
        for words in WORDS
        if algorithm is not strassen or words.subtracts
    ],
)
def test_every_side_up_to_70(algorithm: Algorithm, words: Words) -> None:
    for n in range(1, 71):
        unit = unit_of(16, words)
        a, b = drawn(words, n, n, n), drawn(words, n + 1000, n, n)
        np.testing.assert_array_equal(algorithm(unit, a, b), expected(words, a, b))
        assert unit.cost.work == getattr(costs, algorithm.__name__)(n, 16).work
        assert unit.cost.fused_calls == 0


@settings(deadline=None, max_examples=50)
@given(
    st.tuples(*[st.integers(1, 30)] * 3), st.integers(1, 9), st.booleans(),
    st.sampled_from(WORDS), st.integers(0, 99),
)  # fmt: skip
def test_any_shape(
    shape: tuple[int, int, int], s: int, weak: bool, words: Words, seed: int
) -> None:
    n, k, p = shape
    unit = unit_of(s, words, weak)
    a, b = drawn(words, seed, n, k), drawn(words, seed + 1, k, p)
    np.testing.assert_array_equal(rectangular(unit, a, b), expected(words, a, b))
    assert unit.cost.work == costs.rectangular(n, k, p, s, weak).work
    assert unit.cost == costs.rectangular(n, k, p, s, weak)
    q = [-(-side // s) for side in shape]
    assert unit.cost.calls == q[1] * (q[0] * q[2] if weak else min(q[0], q[2]))


@pytest.mark.parametrize("s", SIDES)
def test_the_operand_with_fewer_blocks_is_loaded(s: int) -> None:
    """Corollary 1: r sqrt(n) / m calls, whichever operand has more rows."""
    for q in (1, 2, 3, 4, 5, 6, 7, 8):
        a, b = drawn(INT64, q, 3 * s, 2 * s), drawn(INT64, q + 9, 2 * s, q * s)
        for left, right in ((a, b), (b.T, a.T)):
            unit = unit_of(s)
            np.testing.assert_array_equal(rectangular(unit, left, right), left @ right)
            less, more = sorted((3, q))
            assert unit.cost == Cost(2 * less, 2 * less * more * s, cpu_adds=3 * q * s * s)
            assert unit.unit_time == 3 * 2 * q * s**2
            assert unit.cost == costs.rectangular(len(left), 2 * s, len(right.T), s)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 20), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_recursions_on_large_integers(n: int, s: int, weak: bool, seed: int) -> None:
    """Sums of blocks, and of products, stay far from the ends of 64 bits."""
    a, b = np.random.default_rng(seed).integers(-(2**24), 2**24, (2, n, n))
    for algorithm in (standard, strassen):
        unit = unit_of(max(s, n // 4), weak=weak)
        np.testing.assert_array_equal(algorithm(unit, a, b), a @ b)


@pytest.mark.parametrize("s", SIDES)
def test_counts_are_those_of_the_theorems(s: int) -> None:
    for q in (1, 2, 3, 4, 5, 6, 7, 8):
        n = q * s
        a = b = drawn(INT64, q, n, n)
        unit = unit_of(s)
        tall(unit, a, b)
        assert unit.cost.work == costs.tall(n, s).work == UnitWork(q**2, q**2 * n)
        assert unit.unit_time == n**3 // s
        assert unit.cost == Cost(q**2, q**2 * n, cpu_adds=(q - 1) * n * n)
        assert unit.cost == costs.tall(n, s)
        weak = unit_of(s, weak=True)
        tall(weak, a, b)
        assert weak.cost.work == costs.tall(n, s, weak=True).work == UnitWork(q**3, q**3 * s)
        assert weak.cost.cpu == unit.cost.cpu


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_counts_of_recursions_are_those_of_the_theorem(s: int) -> None:
    """p0^h calls of s rows, time p0^h (m + l), h the least with s 2^h from the side on; the sums of
    the CPU where nothing is padded."""
    for n in (s, 2 * s - 1, 2 * s, 3 * s, 4 * s, 5 * s + 1, 8 * s, 9 * s, 16 * s):
        h = (-(-n // s) - 1).bit_length()
        a = b = drawn(INT64, n, n, n)
        for p0, algorithm, adds in (
            (8, standard, (2**h - 1) * n * n),
            (7, strassen, 5 * s * s * (7**h - 4**h)),
        ):
            unit = TensorUnit(NumpyBackend(s), INT64, latency=1000)
            algorithm(unit, a, b)
            assert unit.cost.work == UnitWork(p0**h, p0**h * s)
            assert unit.unit_time == p0**h * (s * s + 1000)
            assert unit.cost == getattr(costs, algorithm.__name__)(n, s)
            if n == s * 2**h:
                assert unit.cost == Cost(p0**h, p0**h * s, cpu_adds=adds)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_counts_of_other_sides_are_the_formulas(s: int) -> None:
    """Padding included, on weak units as well."""
    for n in (1, s - 1, s, s + 1, 2 * s - 1, 3 * s, 3 * s + 1, 5 * s + 3, 6 * s):
        a = b = drawn(INT64, n, n, n)
        for weak in (False, True):
            for algorithm in SQUARE:
                unit = unit_of(s, weak=weak)
                np.testing.assert_array_equal(algorithm(unit, a, b), a @ b)
                assert unit.cost.work == getattr(costs, algorithm.__name__)(n, s, weak).work
                assert unit.cost == getattr(costs, algorithm.__name__)(n, s, weak)


@pytest.mark.parametrize(
    ("algorithm", "exponent", "sides"),
    [
        (tall, 1.5, (16, 32, 48, 64)),
        (standard, 1.5, (8, 16, 32)),
        pytest.param(strassen, math.log(7, 4), (8, 16, 32, 64), marks=pytest.mark.slow),
    ],
    ids=["tall", "standard", "strassen"],
)
def test_work_of_the_cpu_grows_as_the_theorems_say(
    algorithm: Algorithm, exponent: float, sides: tuple[int, ...]
) -> None:
    """The exponents in n, the paper's number of entries, are measured on a unit of a single word.
    For much larger n the formulas give them more exactly."""
    words = []
    for n in sides:
        unit = unit_of(1, FP64)
        algorithm(unit, np.ones((n, n)), np.ones((n, n)))
        words.append(unit.cost.cpu)
    assert fitted(sides, words) == pytest.approx(exponent, abs=0.05)
    large = [2**h for h in range(10, 20)]
    far = [getattr(costs, algorithm.__name__)(n, 1).cpu for n in large]
    assert fitted(large, far) == pytest.approx(exponent, abs=0.005)


def fitted(sides: Sequence[int], words: Sequence[int]) -> float:
    """The exponent that words of the CPU grow with."""
    entries = [math.log(n * n) for n in sides]
    return float(np.polyfit(entries, [math.log(count) for count in words], 1)[0])


def test_words_are_refused_before_anything_runs() -> None:
    for words in (BOOLEAN, MINPLUS):
        unit = unit_of(4, words)
        message = f"words of strassen must subtract, which {words.name} does not"
        with pytest.raises(ValueError, match=f"^{message}$"):
            strassen(unit, drawn(words, 1, 8, 8), drawn(words, 2, 8, 8))
        assert unit.cost == Cost()


def test_an_overflow_is_told() -> None:
    a = np.full((4, 4), 100)
    with pytest.raises(WordOverflow, match=r"^words must have 17 bits to hold the result, not 16$"):
        tall(unit_of(4, integer(16)), a, a)
    # The sum of two blocks, each of which is held.
    with pytest.raises(WordOverflow, match=r"^words must have 17 bits to hold the result, not 16$"):
        tall(unit_of(2, integer(16)), a, a)
    assert int(tall(unit_of(2, integer(17)), a, a)[0, 0]) == 40000


@pytest.mark.parametrize(
    ("algorithm", "shapes", "message"),
    [
        (rectangular, ((3, 4), (3, 4)), "`a` and `b` must be matrices (n, k) and (k, p), "
         "not of shapes (3, 4) and (3, 4)"),
        (rectangular, ((4,), (4, 4)), "`a` and `b` must be matrices (n, k) and (k, p), "
         "not of shapes (4,) and (4, 4)"),
        (rectangular, ((0, 4), (4, 4)), "`a` and `b` must not be empty, as of shapes (0, 4) and "
         "(4, 4)"),
        (tall, ((3, 4), (4, 3)), "`a` and `b` must be square, not of shapes (3, 4) and (4, 3)"),
        (strassen, ((4, 4), (4, 5)), "`a` and `b` must be square, not of shapes (4, 4) and (4, 5)"),
    ],
)  # fmt: skip
def test_shapes_are_refused(algorithm: Algorithm, shapes: Any, message: str) -> None:
    unit = unit_of(4)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        algorithm(unit, np.zeros(shapes[0], int), np.zeros(shapes[1], int))
    assert unit.cost == Cost()


def test_a_scheme_can_be_used_by_itself() -> None:
    a = drawn(INT64, 5, 16, 16)
    unit = unit_of(4)
    np.testing.assert_array_equal(recursive(unit, STRASSEN, a, a), a @ a)
    assert unit.cost.work == costs.recursive(16, 4, 7, 15).work
