"""Iterations of closures, foreseen from the graph alone, against those that the model takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.apps.common.graph import Graph, read_graph
from tilewright.apps.common.units.matrix_unit_numbers import numbers_of
from tilewright.apps.common.units.matrix_unit_products import TiledProduct
from tilewright.apps.graphs.closure import Closure, Notation, close
from tilewright.apps.graphs.hops import fewest_hops, settling
from tilewright.apps.graphs.options import ALGORITHMS
from tilewright.apps.graphs.problems import PROBLEMS, Problem
from tilewright.errors import UserError
from tilewright.hw.spec.simd2 import SIMD2, Simd2Config
from tilewright.verif.apps.graphs.examples import Edges, random_edges, write_graph
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick

UNIT = Simd2Config()


def notation_of(problem: Problem, config: Simd2Config = UNIT) -> Notation:
    return Notation(problem, numbers_of(config, problem.operation))


def graph_of(path: Path, problem: Problem, edges: Edges, vertices: int) -> Graph:
    graph = read_graph(write_graph(path, edges, vertices), problem.combine, lambda *_: None)
    if problem.undirected:
        graph = graph.undirected(problem.combine)
    return graph.with_weights(np.ones(graph.edges)) if problem.weights == "ignored" else graph


def random_graph(path: Path, problem: Problem, generator: np.random.Generator) -> Graph:
    """Draws a graph with loops, zero weights and, where allowed, negative weights."""
    vertices = int(generator.integers(3, 16))

    def draw(count: int) -> np.ndarray:
        if problem.weights == "reliability":
            return 0.5 ** generator.integers(0, 2, count)
        return generator.integers(-5 if problem.name == "aplp" and vertices % 2 else 0, 9, count)

    edges = random_edges(generator, vertices, int(generator.integers(2, 3 * vertices)), draw)
    if problem.acyclic:
        order = generator.permutation(vertices) + 1
        edges = [
            (int(order[min(i, j) - 1]), int(order[max(i, j) - 1]), w) for i, j, w in edges if i != j
        ] or [(1, 2, 1.0)]
    return graph_of(path, problem, edges, vertices)


def computed(notation: Notation, graph: Graph, algorithm: str) -> Closure:
    """The closure by the unit's model, with the check."""
    problem = notation.problem
    start = graph.dense(problem.absent)
    np.fill_diagonal(start, problem.combine(np.diagonal(start), problem.empty))
    unit = TiledProduct(SIMD2, UNIT, problem.operation, backend="model")
    return close(notation, start, unit.multiply, algorithm, check=True)


@pytest.mark.parametrize("name", PROBLEMS)
def test_iterations_are_those_of_the_run(name: str, tmp_path: Path) -> None:
    """Predicts the iterations of both algorithms, which differ between graphs."""
    problem, generator = PROBLEMS[name], np.random.default_rng(len(name))
    notation, taken = notation_of(problem), set()
    for _ in range(by_size(6, 20, 100)):
        graph = random_graph(tmp_path / "g.mtx", problem, generator)
        hops = fewest_hops(notation, graph)
        for algorithm in ALGORITHMS:
            found = computed(notation, graph, algorithm)
            foreseen = settling(algorithm, hops.most, graph.vertices)
            assert (found.iterations, found.settled) == foreseen
            taken.add(found.iterations)
    assert len(taken) > 1


def test_a_path_through_all_vertices(tmp_path: Path) -> None:
    """One edge after the other: the worst case of both algorithms, and the largest value."""
    problem = PROBLEMS["apsp"]
    for vertices in (2, 3, 4, 5, 9, 17, 18):
        edges = [(i, i + 1, 3.0) for i in range(1, vertices)]
        graph = graph_of(tmp_path / "g.mtx", problem, edges, vertices)
        notation = notation_of(problem)
        hops = fewest_hops(notation, graph)
        assert (hops.most, hops.largest) == (vertices - 1, 3 * (vertices - 1))
        for algorithm in ALGORITHMS:
            foreseen = settling(algorithm, hops.most, vertices)
            assert foreseen[1] == (vertices == 2)
            found = computed(notation, graph, algorithm)
            assert (found.iterations, found.settled) == foreseen


REFUSED: dict[str, tuple[str, str, Edges, str]] = {
    "fraction": (
        "apsp", "fp16", [(1, 2, 1), (2, 3, 1.5)],
        "the edge 2 -> 3 has the weight 1.5, no integer",
    ),
    "not a power of two": (
        "maxrp", "fp16", [(1, 2, 0.75)], "the edge 1 -> 2 has the weight 0.75, no power of two",
    ),
    "not held": (
        "apsp", "fp16", [(1, 2, 2049)],
        "the edge 1 -> 2 has the weight 2049, not among its numbers",
    ),
    "long": (
        "aplp", "fp16", [(1, 2, 2000), (2, 3, 2000)], "values of paths reach 4000",
    ),
    "long on the way": (
        "apsp", "fp16", [(1, 3, 4096), (1, 2, 1), (2, 3, 1)], "values of paths reach 4096",
    ),
    "beyond half of the range": (
        "apsp", "int8", [(1, 2, 60), (2, 3, 60)], "values of paths reach 120",
    ),
    "unlikely": (
        "maxrp", "fp16", [(1, 2, 2.0**-10), (2, 3, 2.0**-10)], "values of paths reach 2^-20",
    ),
    "far": ("apsp", "fp64", [(1, 2, 2.0**60)], "the largest weight is 1.15292e+18"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_where_the_format_rounds(case: str, tmp_path: Path) -> None:
    name, format, edges, why = REFUSED[case]
    problem = PROBLEMS[name]
    notation = notation_of(problem, Simd2Config(format=format, ops=(problem.operation,)))
    graph = graph_of(tmp_path / "g.mtx", problem, edges, 3)
    with pytest.raises(UserError) as caught:
        fewest_hops(notation, graph)
    assert str(caught.value) == (
        f"{graph.name}: with the convergence check iterations are foreseen only where {format} "
        f"does not round, but {why}; --no-convergence-check takes the worst case"
    )


def test_a_cycle_of_negative_length_is_refused(tmp_path: Path) -> None:
    problem = PROBLEMS["apsp"]
    edges: Edges = [(1, 2, 2), (2, 3, -4), (3, 1, 1)]
    graph = graph_of(tmp_path / "g.mtx", problem, edges, 3)
    with pytest.raises(UserError, match="has a cycle of negative length; shortest paths would"):
        fewest_hops(notation_of(problem), graph)
