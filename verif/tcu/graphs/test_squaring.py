"""Distances by squares of lengths: results beside NetworkX, counts beside formulas; the same by the
CPU, counted as it is done."""

from __future__ import annotations

import re
from typing import Any

import networkx
import numpy as np
import pytest
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit
from tilewright.sim.tcu.formulas import graphs as costs
from tilewright.sim.tcu.graphs.squaring import squaring
from tilewright.sim.tcu.words import INT64, MINPLUS, Array, Words
from tilewright.verif.tcu.graphs.networks import expected, matrix


def unit_of(s: int, words: Words = MINPLUS, weak: bool = False) -> TensorUnit:
    return TensorUnit(NumpyBackend(s), words, weak=weak)


@pytest.mark.parametrize("s", [4, 8, 16])
@pytest.mark.parametrize("weak", [False, True])
def test_any_graph(s: int, weak: bool) -> None:
    for n in (*range(1, 12), 16, 17, 25, 33, 40):
        graph = networkx.gnp_random_graph(n, 2 / n, seed=n)
        unit = unit_of(s, weak=weak)
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
        unit = unit_of(s)
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
def test_refusals(words: Words, adjacency: Any, message: str) -> None:
    unit = unit_of(4, words)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        squaring(unit, np.array(adjacency))
    assert unit.cost == Cost()
