"""``tilewright run apsp|aplp|mcp|maxrp|minrp|mst|gtc``: closures of graphs on a semiring unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.verif.apps.graphs.examples import (
    Edges,
    best_paths,
    both_ways,
    closure,
    example,
    random_edges,
    write_graph,
)
from tilewright.verif.kit.commands import Run

MODEL = ("--backend", "model")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")


@pytest.mark.parametrize("check", ["--convergence-check", "--no-convergence-check"])
@pytest.mark.parametrize("algorithm", ["leyzorek", "bellman-ford"])
@pytest.mark.parametrize("app", list(PROBLEMS))
def test_every_application(run: Run, app: str, algorithm: str, check: str) -> None:
    graph, expected = example(run, app)
    found = closure(run, app, graph, *MODEL, "--algorithm", algorithm, check)
    np.testing.assert_array_equal(found, expected)
    report = run.report()
    vertices = len(expected)
    worst = {"leyzorek": {5: 2, 6: 3}, "bellman-ford": {5: 3, 6: 4}}[algorithm][vertices]
    if check == "--no-convergence-check":
        assert (report["iterations"], report["settled"]) == (worst, None)
        assert "(not checked)" in run.out
    else:
        assert report["iterations"] <= worst
        assert report["settled"] or report["iterations"] == worst
    assert report["operations"] == report["iterations"] * 8
    # A reference by logarithms is not quite exact itself.
    assert report["relative_error"]["max"] <= (1e-15 if "rp" in app else 0)
    assert report["agreement"]["wrong"] == 0
    assert (report["app"], report["mode"]) == (app, PROBLEMS[app].operation)


def test_every_application_on_rtl(run: Run) -> None:
    """The same values as the model's, every operation compared; sizes that fill no tile."""
    for app in PROBLEMS:
        graph, expected = example(run, app)
        found = closure(run, app, graph, *SMALL)
        np.testing.assert_array_equal(found, expected)
        report = run.report()
        assert report["backend"] == "rtl"
        tiles = -(-len(expected) // 2)
        assert report["operations"] == report["iterations"] * tiles**3
        assert (report["checked"], report["mismatches"]) == (report["operations"] * 4, 0)
        assert report["cycles"] >= report["operations"]
        assert "bit for bit equal" in run.out
        np.testing.assert_array_equal(found, closure(run, app, graph, *SMALL, *MODEL))


@pytest.mark.parametrize("app", list(PROBLEMS))
def test_random_graphs(run: Run, app: str) -> None:
    """Compares with enumeration; the graphs have parallel edges, loops and edges of weight 0."""
    problem, generator = PROBLEMS[app], np.random.default_rng(list(PROBLEMS).index(app))
    lowest = {"any": -2, "not negative": 0, "ignored": -2}
    for algorithm in ("leyzorek", "bellman-ford"):
        for _ in range(4):
            vertices = int(generator.integers(3, 8))

            def draw(count: int) -> NDArray[Any]:
                if problem.weights == "reliability":
                    return 0.5 ** generator.integers(0, 2, count)
                low = 0 if app == "apsp" else lowest[problem.weights]
                return generator.integers(low, 6, count)

            edges = random_edges(generator, vertices, 3 * vertices, draw)
            if problem.acyclic:
                edges = [(min(i, j), max(i, j), w) for i, j, w in edges if i != j]
            options = ("--undirected",) if problem.undirected else ()
            graph = write_graph(run.directory / "g.mtx", edges, vertices)
            found = closure(run, app, graph, *MODEL, *options, "--algorithm", algorithm)
            directed = both_ways(edges) if options else edges
            np.testing.assert_array_equal(found, best_paths(app, directed, vertices))


def test_negative_cycles_are_found(run: Run) -> None:
    """Refused exactly where NetworkX finds one; else as its Floyd-Warshall algorithm says."""
    networkx = pytest.importorskip("networkx")
    generator = np.random.default_rng(9)
    refused = 0
    for _ in range(20):
        edges = random_edges(generator, 6, 9, lambda n: generator.integers(-2, 7, n))
        network = networkx.DiGraph()
        network.add_nodes_from(range(1, 7))
        for i, j, w in sorted(edges, reverse=True):  # of parallel edges the lightest
            network.add_edge(i, j, weight=w)
        graph = write_graph(run.directory / "g.mtx", edges, 6)
        if networkx.negative_edge_cycle(network):
            refused += 1
            line = run.refused("apsp", graph, *MODEL)
            assert line.endswith("has a cycle of negative length; shortest paths would have no end")
            continue
        expected = networkx.floyd_warshall_numpy(network)
        np.fill_diagonal(expected, 0)
        np.testing.assert_array_equal(closure(run, "apsp", graph, *MODEL), expected)
    assert 3 < refused < 17


def test_dense_matrices(run: Run) -> None:
    """Zeros and infinities are no edges; a Matrix Market array is read as a .npy file is."""
    matrix = np.array([[0, 2, np.inf], [0, 7, 3], [1, -np.inf, 0]])
    expected = [[0, 2, 5], [4, 0, 3], [1, 3, 0]]
    np.testing.assert_array_equal(closure(run, "apsp", run.save("g.npy", matrix), *MODEL), expected)
    assert run.report()["edges"] == 4
    listed = "\n".join(str(x) for x in matrix.T.ravel())
    array = run.directory / "g.mtx"
    array.write_text(f"%%MatrixMarket matrix array real general\n3 3\n{listed}\n")
    np.testing.assert_array_equal(closure(run, "apsp", array, *MODEL), expected)


def test_directions(run: Run) -> None:
    edges: Edges = [(1, 2, 3), (2, 1, 1), (3, 2, 2)]
    graph = write_graph(run.directory / "g.mtx", edges, 3)
    both = closure(run, "apsp", graph, *MODEL, "--undirected")
    np.testing.assert_array_equal(both, [[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    upper = closure(run, "aplp", graph, *MODEL, "--upper-triangle")
    inf = np.inf
    np.testing.assert_array_equal(upper, [[0, 3, -inf], [-inf, 0, -inf], [-inf, -inf, 0]])
    widest = closure(run, "mcp", graph, *MODEL, "--undirected")
    np.testing.assert_array_equal(widest, [[inf, 3, 2], [3, inf, 2], [2, 2, inf]])


def test_help_names_the_operation(run: Run) -> None:
    for app, problem in PROBLEMS.items():
        assert run(app, "--help") == 0
        assert problem.operation in run.out
        assert "--no-convergence" in run.out
        assert ("--tree" in run.out) == (app == "mst")
