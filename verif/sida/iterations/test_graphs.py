"""Computations on graphs in passes of two iterations, against NetworkX and SciPy, and against one
iteration at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.graphs import (
    core_numbers,
    coreness,
    levels,
    pagerank,
    reach,
    shortest_paths,
    undirected,
)
from tilewright.sim.sida.iterations.problem import Problem, Solution, solve
from tilewright.sim.sida.result.elementwise import begin, run
from tilewright.sim.sida.result.products import Rules, output_stationary
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import cases
from tilewright.verif.sida.iterations.random_graphs import random_graph

DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=3)
MOST = 500


def ranks_of(graph: csr_array, tolerance: float = 1e-6) -> Any:
    whole = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
    found = networkx.pagerank(whole, alpha=0.85, tol=tolerance / graph.shape[0], max_iter=MOST)
    return np.array([found[vertex] for vertex in range(graph.shape[0])])


def one_at_a_time(rules: Rules, problem: Problem, most: int) -> tuple[Any, int]:
    """Result and iterations with one product and one part of the program after the other, each
    product in the order of the first one of a pass."""
    program, x = problem.program, problem.x
    scalars = begin(program, rules.fmt, problem.scalars)
    names = [one.name for one in program.scalars]
    places = {name: number for number, name in enumerate(program.vectors)}
    vectors = {places[name]: values for name, values in problem.vectors.items()}
    for done in range(most):
        y = output_stationary(rules, problem.semiring, problem.matrix, x)
        half = done % 2
        left = run(rules, program, ("e1", "e2")[half], y, scalars, vectors)
        x, vectors = left.result, vectors | left.vectors
        for number, pattern in left.reductions.items():
            scalars[number] = pattern
        assert problem.stop is not None
        value = scalars[names.index(problem.stop.reductions[half])]
        pair = np.array([value, problem.stop.pattern(rules.fmt)], np.uint64)
        if np.less(*decode(pair, rules.fmt)):
            return x, done + 1
    return x, most


def problems(graph: csr_array) -> dict[str, Problem]:
    return {
        "pagerank": pagerank(DOUBLE, graph),
        "reach": reach(DOUBLE, graph, [0]),
        "paths": shortest_paths(DOUBLE, graph, 0),
        "core": coreness(DOUBLE, undirected(graph)),
    }


@pytest.mark.parametrize("name", ["pagerank", "reach", "paths", "core"])
def test_two_iterations_a_pass_are_two_iterations(name: str) -> None:
    """The number of iterations and the values are the same. Sums in another order may differ in
    their last places."""
    odd = even = 0
    for seed in range(max(3, cases(12))):
        problem = problems(random_graph(seed, size=5 + 6 * seed))[name]
        found = solve(DOUBLE, problem, MOST)
        expected, iterations = one_at_a_time(DOUBLE, problem, MOST)
        assert (found.iterations, found.settled) == (iterations, True)
        assert found.passes == -(-iterations // 2)
        assert found.wasted == iterations % 2
        odd, even = odd + iterations % 2, even + 1 - iterations % 2
        one, other = (decode(values, DOUBLE.fmt) for values in (found.result, expected))
        if name == "pagerank":
            np.testing.assert_allclose(one, other, rtol=1e-13)
        else:
            assert (one == other).all()
    assert odd


def test_ranks() -> None:
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = solve(DOUBLE, pagerank(DOUBLE, graph), MOST)
        np.testing.assert_allclose(
            decode(found.result[:, 0], DOUBLE.fmt), ranks_of(graph), rtol=1e-12
        )


@pytest.mark.parametrize("value", ["fp32", "fp64", "int32"])
def test_steps(value: str) -> None:
    rules = replace(DOUBLE, fmt=FORMATS[value])
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = levels(rules, solve(rules, reach(rules, graph, [seed, 7]), MOST))
        lengths = dijkstra(graph, unweighted=True, indices=[seed, 7]).min(axis=0)
        assert (found == np.where(np.isinf(lengths), -1, lengths)).all()


def test_steps_that_are_limited() -> None:
    """The solver finds the vertices within k hops in k steps, and does not settle."""
    graph = random_graph(3)
    lengths = dijkstra(graph, unweighted=True, indices=0)
    for most in range(1, 6):
        found = solve(DOUBLE, replace(reach(DOUBLE, graph, [0]), stop=None), most)
        assert (found.iterations, found.settled) == (most, False)
        assert ((decode(found.result[:, 0], DOUBLE.fmt) != 0) == (lengths <= most)).all()


@pytest.mark.parametrize("value", ["fp32", "fp64", "int32"])
def test_lengths(value: str) -> None:
    rules = replace(DOUBLE, fmt=FORMATS[value])
    for seed in range(max(2, cases(8))):
        graph = random_graph(seed)
        found = decode(solve(rules, shortest_paths(rules, graph, 1), MOST).result[:, 0], rules.fmt)
        lengths = dijkstra(graph, indices=1)
        nowhere = 2**31 - 1 if value == "int32" else np.inf
        assert (found == np.where(np.isinf(lengths), nowhere, lengths)).all()


def test_cores() -> None:
    for seed in range(max(2, cases(8))):
        graph = undirected(random_graph(seed, density=0.1))
        expected = networkx.core_number(networkx.from_scipy_sparse_array(graph))
        found = core_numbers(DOUBLE, solve(DOUBLE, coreness(DOUBLE, graph), MOST))
        assert found.tolist() == [expected[vertex] for vertex in range(graph.shape[0])]


@needs_data
def test_known_graphs() -> None:
    """Zachary's karate club: its ranks, its cores, the steps from vertex 1."""
    graph = csr_array(mmread(data_file("matrices/karate.mtx")))
    graph.data = np.ones(graph.nnz)
    club = networkx.karate_club_graph()
    for source, expected in (("ranks", None), ("cores", networkx.core_number(club))):
        if source == "ranks":
            found: Solution = solve(DOUBLE, pagerank(DOUBLE, graph), MOST)
            ranks = decode(found.result[:, 0], DOUBLE.fmt)
            np.testing.assert_allclose(ranks, ranks_of(graph), rtol=1e-12)
        else:
            assert expected is not None
            cores = core_numbers(DOUBLE, solve(DOUBLE, coreness(DOUBLE, undirected(graph)), MOST))
            assert cores.tolist() == [expected[vertex] for vertex in range(34)]
    steps = levels(DOUBLE, solve(DOUBLE, reach(DOUBLE, graph, [0]), MOST))
    lengths = networkx.single_source_shortest_path_length(club, 0)
    assert steps.tolist() == [lengths[vertex] for vertex in range(34)]


def test_refusals() -> None:
    graph = random_graph(1)
    graph.data[0] = -1
    for make in (lambda: pagerank(DOUBLE, graph), lambda: shortest_paths(DOUBLE, graph, 0)):
        with pytest.raises(ValueError, match=r"^`graph` must have no negative weights, not -1$"):
            make()
    with pytest.raises(ValueError, match=r"^`most` must be at least 1, not 0$"):
        solve(DOUBLE, reach(DOUBLE, random_graph(1), [0]), 0)
