"""Distances by Seidel's algorithm: results beside NetworkX, counts beside formulas, refusals."""

from __future__ import annotations

import re
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.formulas import graphs as costs
from tilewright.sim.tcu.graphs.distances import distances
from tilewright.sim.tcu.graphs.squaring import squaring
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Array,
    WordOverflow,
    Words,
    integer,
)
from tilewright.sim.tcu.words.floats import Floats
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.reference_units import SIDES, unit_of


def matrix(graph: Any) -> Array:
    """The adjacency matrix, of integers."""
    return np.asarray(networkx.to_numpy_array(graph, nodelist=range(len(graph)), dtype=int))


def expected(graph: Any) -> Array:
    """Edges of a shortest path between any two vertices, inf if there is none."""
    found = np.full((len(graph),) * 2, np.inf)
    for start, reached in networkx.all_pairs_shortest_path_length(graph):
        for end, length in reached.items():
            found[start, end] = length
    return found


def cost_of(graph: Any, s: int, weak: bool = False) -> Cost:
    """Computes the cost by the formulas, from components and diameters that NetworkX finds."""
    n = len(graph)
    found = Cost(cpu_adds=n * n, cpu_moves=n * n)
    for members in networkx.connected_components(graph):
        diameter = networkx.diameter(graph.subgraph(members))
        found += costs.component(len(members), diameter, s, weak)
    return found


def test_every_number_of_vertices_up_to_70() -> None:
    for n in range(1, 71):
        graph = networkx.gnp_random_graph(n, 2 / n, seed=n)
        unit = unit_of(16)
        found = distances(unit, matrix(graph))
        np.testing.assert_array_equal(found, expected(graph))
        assert found.dtype == np.float64
        assert unit.cost == cost_of(graph, 16)
        assert unit.cost.fused_calls == 0


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from((INT64, integer(10), FP32, FP64)), st.integers(1, 20), st.floats(0.5, 6),
    st.integers(1, 6), st.booleans(), st.integers(0, 999),
)  # fmt: skip
def test_any_graph(words: Words, n: int, edges: float, s: int, weak: bool, seed: int) -> None:
    graph = networkx.gnp_random_graph(n, min(1, edges / n), seed=seed)
    unit = unit_of(s, words, weak)
    np.testing.assert_array_equal(distances(unit, matrix(graph)), expected(graph))
    assert unit.cost == cost_of(graph, s, weak)


@pytest.mark.parametrize("s", slow_but([4], among=SIDES))
def test_counts_are_those_of_the_theorem(s: int) -> None:
    """Two products a level, on paths, circles and graphs whose diameters are around powers of
    two."""
    graphs = [networkx.path_graph(n) for n in (2, 3, 4, 5, 6, 9, 10, 17, 18)]
    graphs += [networkx.cycle_graph(33), networkx.complete_graph(20), networkx.star_graph(16)]
    for graph in graphs:
        n, diameter = len(graph), networkx.diameter(graph)
        levels = int(np.ceil(np.log2(diameter)))
        assert costs.halvings(diameter) == levels
        unit = unit_of(s)
        distances(unit, matrix(graph))
        q = -(-n // s)
        rows = max(n, s)
        assert unit.cost.work == UnitWork(2 * levels * q * q, 2 * levels * q * q * rows)
        assert unit.cost.work == costs.distances(n, diameter, s).work
        assert unit.cost == costs.distances(n, diameter, s)


def as_printed(a: Array, levels: int) -> Array:
    """The paper's text: the squared graph from the square of the matrix alone."""
    if not levels:
        return np.ones_like(a) - np.eye(len(a), dtype=int)
    t = as_printed((a @ a > 0).astype(int), levels - 1)
    odd = t @ a < t * a.sum(axis=0)
    return np.asarray(2 * t - odd)


def test_the_square_of_the_matrix_alone_is_not_enough() -> None:
    """Section 3.4's squared graph is wrong on small worlds of 20 vertices, each of 20; it is right
    if every edge has a third vertex beside both ends."""
    for seed in range(20):
        graph = networkx.connected_watts_strogatz_graph(20, 4, 0.3, seed=seed)
        a, true = matrix(graph), expected(graph)
        assert (as_printed(a, 5) != true).any()
        assert (as_printed(a, costs.halvings(networkx.diameter(graph))) != true).any()
        np.testing.assert_array_equal(distances(unit_of(4), a), true)
    circle = networkx.watts_strogatz_graph(20, 4, 0)
    np.testing.assert_array_equal(as_printed(matrix(circle), 5), expected(circle))


def test_work_of_the_cpu_grows_as_products_do() -> None:
    """The formulas, which equal the counts, have n^3 / s sums per level; the levels of a path are
    the logarithm of its length."""
    large = [2**h + 1 for h in range(10, 16)]
    far = [costs.distances(n, n - 1, 4).cpu / costs.halvings(n - 1) for n in large]
    assert fitted(large, far) == pytest.approx(3, abs=0.05)


def fitted(sides: Any, words: Any) -> float:
    return float(np.polyfit(np.log(sides), np.log(np.array(words, float)), 1)[0])


NOT_ONE = (
    "`adjacency` must be of an undirected graph without weights: 0 and 1, symmetric, 0 on the "
    "diagonal"
)


@pytest.mark.parametrize(
    ("words", "adjacency", "message"),
    [
        (INT64, [[0, 1], [0, 0]], NOT_ONE),
        (INT64, [[0, 2], [2, 0]], NOT_ONE),
        (INT64, [[1, 1], [1, 0]], NOT_ONE),
        (FP64, [[0, 0.5], [0.5, 0]], NOT_ONE),
        (INT64, [[0, 1]], "`adjacency` must be a square matrix, not of shape (1, 2)"),
        (BOOLEAN, [[0, 1], [1, 0]], "words of distances must be integers or real floats, not "
         "boolean"),
        (COMPLEX, [[0, 1], [1, 0]], "words of distances must be integers or real floats, not "
         "complex"),
        (Floats("half", np.dtype(np.float16)), np.zeros((46, 46)), "words of distances must hold "
         "whole numbers up to 2116, not up to 2048 as half does"),
    ],
)  # fmt: skip
def test_refusals(words: Words, adjacency: Any, message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        distances(unit, np.array(adjacency))
    assert unit.cost == Cost()


def test_words_that_are_too_narrow_are_named() -> None:
    message = "words must have 5 bits to hold the result, not 4"
    with pytest.raises(WordOverflow, match=f"^{re.escape(message)}$"):
        distances(unit_of(4, integer(4)), matrix(networkx.star_graph(20)))


# Distances by squares of lengths: results beside NetworkX, counts beside formulas; the same by the
# CPU, counted as it is done.


def unit_of_squaring(s: int, words: Words = MINPLUS, weak: bool = False) -> TensorUnit:
    return TensorUnit(NumpyBackend(s), words, weak=weak)


@pytest.mark.parametrize("s", [4, 8, 16])
@pytest.mark.parametrize("weak", [False, True])
def test_squaring_any_graph(s: int, weak: bool) -> None:
    for n in (*range(1, 12), 16, 17, 25, 33, 40):
        graph = networkx.gnp_random_graph(n, 2 / n, seed=n)
        unit = unit_of_squaring(s, weak=weak)
        found = squaring(unit, matrix(graph))
        np.testing.assert_array_equal(found, expected(graph))
        cost = Cost(cpu_adds=n * n, cpu_moves=n * n)
        for members in networkx.connected_components(graph):
            diameter = networkx.diameter(graph.subgraph(members))
            cost += costs.squared_component(len(members), diameter, s, weak)
        assert unit.cost == cost


@pytest.mark.parametrize("s", [4, 8, 16])
def test_one_product_a_level(s: int) -> None:
    """Half of those of Seidel's algorithm."""
    for n in (2, 3, 4, 5, 6, 9, 10, 17, 18):
        unit = unit_of_squaring(s)
        squaring(unit, matrix(networkx.path_graph(n)))
        assert unit.cost.work == costs.squaring(n, n - 1, s).work
        assert unit.cost.work * 2 == costs.distances(n, n - 1, s).work
        assert unit.cost == costs.squaring(n, n - 1, s)


def test_by_the_cpu() -> None:
    """Every sum and every minimum of the products counted where it is taken."""
    for n in (1, 2, 3, 7, 12):
        graph = networkx.path_graph(n)
        found, cost = squared_by_loops(matrix(graph))
        assert found == expected(graph).tolist()
        assert cost == costs.squaring_by_cpu(n, n - 1)


def squared_by_loops(a: Array) -> tuple[Any, Cost]:
    n, cost = len(a), Cost()
    d = [[0 if i == j else 1 if a[i, j] else np.inf for j in range(n)] for i in range(n)]
    cost.cpu_moves += n * n
    while True:
        cost.cpu_adds += n * n
        if all(length < np.inf for row in d for length in row):
            return d, cost
        squared: list[list[Any]] = []
        for row in d:
            squared.append([])
            for j in range(n):
                best = row[0] + d[0][j]
                cost.cpu_multiplies += 1
                for t in range(1, n):
                    best = min(best, row[t] + d[t][j])
                    cost.cpu_multiplies += 1
                    cost.cpu_adds += 1
                squared[-1].append(best)
        d = squared


@pytest.mark.parametrize(
    ("words", "adjacency", "message"),
    [
        (INT64, [[0, 1], [1, 0]], "words of squaring must be minplus, not int64"),
        (MINPLUS, [[0, 2], [2, 0]], "`adjacency` must be of an undirected graph without weights: 0 "
         "and 1, symmetric, 0 on the diagonal"),
    ],
)  # fmt: skip
def test_squaring_refusals(words: Words, adjacency: Any, message: str) -> None:
    unit = unit_of_squaring(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        squaring(unit, np.array(adjacency))
    assert unit.cost == Cost()
