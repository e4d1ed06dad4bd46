"""Transitive closure: results beside NetworkX, counts beside formulas, refusals."""

from __future__ import annotations

import math
import re
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.formulas import graphs as costs
from tilewright.sim.tcu.graphs.closure import closure
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Array,
    Words,
    integer,
    modular,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import SIDES, unit_of

pytestmark = pytest.mark.quick


def drawn(n: int, seed: int, edges: float = 1.3) -> Array:
    """About so many edges a vertex, those to itself among them."""
    return np.asarray(np.random.default_rng(seed).random((n, n)) < edges / n).astype(int)


def expected(adjacency: Array) -> Array:
    graph = networkx.from_numpy_array(adjacency, create_using=networkx.DiGraph)
    reached = networkx.transitive_closure(graph, reflexive=False)
    return np.asarray(networkx.to_numpy_array(reached, nodelist=range(len(adjacency)), dtype=int))


@pytest.mark.parametrize("words", [INT64, BOOLEAN], ids=lambda words: words.name)
def test_every_number_of_vertices_up_to_70(words: Words) -> None:
    for n in range(1, 71):
        a = drawn(n, n)
        unit = unit_of(16, words)
        found = closure(unit, a)
        np.testing.assert_array_equal(found, expected(a))
        assert unit.cost == costs.closure(n, 16, semiring=words is BOOLEAN)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from((INT64, integer(5), FP32, FP64, BOOLEAN)), st.integers(1, 20),
    st.integers(1, 6), st.booleans(), st.integers(0, 999),
)  # fmt: skip
def test_any_words(words: Words, n: int, s: int, weak: bool, seed: int) -> None:
    a = drawn(n, seed)
    given_before = a.copy()
    unit = unit_of(s, words, weak)
    found = closure(unit, a)
    assert found.dtype == words.dtype
    np.testing.assert_array_equal(found, expected(a))
    np.testing.assert_array_equal(a, given_before)
    assert unit.cost == costs.closure(n, s, weak, semiring=words is BOOLEAN)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 20), st.integers(1, 6), st.integers(0, 999))
def test_lengths_on_min_plus_words(n: int, s: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.where(rng.random((n, n)) < 2 / n, rng.integers(1, 50, (n, n)), np.inf)
    np.fill_diagonal(lengths, 0)
    unit = unit_of(s, MINPLUS)
    np.testing.assert_array_equal(closure(unit, lengths), csgraph.floyd_warshall(lengths))
    assert unit.cost == costs.closure(n, s, semiring=True)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_counts_are_those_of_the_theorem(s: int) -> None:
    for b in range(1, 9):
        a = drawn(b * s, b)
        unit = unit_of(s)
        closure(unit, a)
        assert unit.cost.calls == b * (b - 1)
        assert unit.unit_time == b * (b - 1) ** 2 * s * s
        assert unit.cost.work == costs.closure(b * s, s).work
        assert unit.cost == costs.closure(b * s, s)
        weak = unit_of(s, BOOLEAN, weak=True)
        closure(weak, a)
        assert weak.cost.work == UnitWork(b * (b - 1) ** 2, b * (b - 1) ** 2 * s)
        assert weak.cost == costs.closure(b * s, s, weak=True, semiring=True)


@pytest.mark.parametrize(("n", "s"), [(16, 2), (36, 2), (36, 4), (64, 4)])
def test_rows_that_the_paper_prints_are_too_few(n: int, s: int) -> None:
    """A call of theorem 5 streams n - s rows, of all blocks but one; with sqrt(n) - sqrt(m), as
    printed, of n vertices, what begins at the others is lost."""
    printed = math.isqrt(n) - s
    assert 0 < printed < n - s
    a = np.roll(np.eye(n, dtype=int), 1, axis=1)  # a circle: all is reached from everywhere
    assert expected(a).all()

    class Short(NumpyBackend):
        def multiply(self, a: Array, b: Array, words: Words) -> Array:
            made = words.product(a, b)
            made[printed:] = words.zero
            return made

    lost = TensorUnit(Short(s), INT64)
    assert not closure(lost, a).all()
    whole = unit_of(s)
    assert closure(whole, a).all()
    assert whole.cost.rows // whole.cost.calls == n - s


def test_work_of_the_cpu_grows_as_the_theorem_says() -> None:
    """The formulas, which equal the counts, have n^3 / s sums beside n^2 s words on blocks."""
    large = [2**h for h in range(10, 16)]
    assert fitted(large, [costs.closure(n, 4).cpu for n in large]) == pytest.approx(3, abs=0.05)
    near = [2**h for h in range(13, 16)]
    assert fitted(near, [costs.closure(n, 1024).cpu for n in near]) == pytest.approx(2, abs=0.05)


def fitted(sides: Any, words: Any) -> float:
    return float(np.polyfit(np.log(sides), np.log(np.array(words, float)), 1)[0])


@pytest.mark.parametrize(
    ("words", "adjacency", "message"),
    [
        (COMPLEX, np.eye(3), "words of closure must be integers, real floats, boolean or minplus, "
         "not complex"),
        (modular(7), np.eye(3, dtype=int), "words of closure must be integers, real floats, "
         "boolean or minplus, not modular(7)"),
        (FP64, np.full((3, 3), 0.5),
         "`adjacency` must hold 0 and 1"),
        (INT64, np.full((2, 2), 2), "`adjacency` must hold 0 and 1"),
        (MINPLUS, np.array([[0, -1.5], [2, 0]]), "`adjacency` must hold lengths of 0 or more, "
         "not -1.5"),
        (INT64, np.ones((2, 3), int), "`adjacency` must be a square matrix, not of shape (2, 3)"),
        (INT64, np.ones((0, 0), int), "`adjacency` must be a square matrix, not of shape (0, 0)"),
        (INT64, np.ones(4, int), "`adjacency` must be a square matrix, not of shape (4,)"),
    ],
)  # fmt: skip
def test_refusals(words: Words, adjacency: Array, message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        closure(unit, adjacency)
    assert unit.cost == Cost()


def test_floats_must_hold_a_blocks_paths() -> None:
    half = Floats("half", np.dtype(np.float16))
    message = "words of closure must hold whole numbers up to 2050, not up to 2048 as half does"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        closure(unit_of(2049, half), np.eye(3))
