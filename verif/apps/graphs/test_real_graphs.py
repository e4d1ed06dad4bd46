"""Graphs from files of others, and large ones, on the model and on RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.apps.common.matrix_files import read_matrix
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.verif.apps.graphs.examples import Edges, closure, random_edges, write_graph
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but

MODEL = ("--backend", "model")
SMALL = ("--set", "tile=2", "--set", "pipeline=2")


@needs_data
def test_a_long_closure_fills_the_unit(run: Run) -> None:
    karate = data_file("matrices/karate.mtx")
    rtl = closure(run, "apsp", karate, *SMALL)
    report = run.report()
    assert report["utilisation"] > 0.99
    assert report["cycles"] * 0.99 < report["operations"] == 4 * 17**3
    np.testing.assert_array_equal(rtl, closure(run, "apsp", karate, *SMALL, *MODEL))


def slow(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def _real(name: str) -> Path:
    return data_file(f"matrices/{name}")


@needs_data
@pytest.mark.parametrize(
    ("app", "name", "options"),
    [
        ("apsp", "karate.mtx", ()),
        ("apsp", "test_BF.mtx", ("--set", "format=int8")),
        slow("aplp", "west0067.mtx", ("--upper-triangle", "--set", "format=fp32")),
        ("mcp", "cover.mtx", ()),
        ("maxrp", "ldbc-directed-example.mtx", ("--set", "format=bf16")),
        ("minrp", "ldbc-directed-example.mtx", ("--upper-triangle",)),
        slow("mst", "west0067.mtx", ("--undirected",)),
        ("mst", "ldbc-undirected-example.mtx", ()),
        slow("gtc", "west0067.mtx", ()),
        ("gtc", "LFAT5.mtx", ()),
    ],
)
def test_real_graphs(run: Run, app: str, name: str, options: tuple[str, ...]) -> None:
    """Both algorithms, with and without the check, agree with the reference and each other."""
    values = [
        closure(run, app, _real(name), *MODEL, *options, "--algorithm", algorithm, *check)
        for algorithm in ("leyzorek", "bellman-ford")
        for check in ((), ("--no-convergence-check",))
    ]
    for other in values[1:]:
        np.testing.assert_allclose(values[0], other, rtol=0.03)


@needs_data
@pytest.mark.parametrize("app", slow_but([], PROBLEMS, ["apsp", "mst"]))
def test_larger_graphs_on_rtl(run: Run, app: str) -> None:
    """67 vertices, both algorithms, on the default unit."""
    problem = PROBLEMS[app]
    options = ["--upper-triangle"] if problem.acyclic or app == "apsp" else []
    options += ["--undirected"] if problem.undirected else []
    name = "test_FW_1000.mtx" if problem.weights == "not negative" else "west0067.mtx"
    matrix = _real(name)
    if problem.weights in ("not negative", "reliability"):
        generator = np.random.default_rng(1)
        edges = random_edges(generator, 67, 294, lambda n: generator.uniform(0.5, 1, n))
        matrix = write_graph(run.directory / "g.mtx", edges, 67)
    for algorithm in ("leyzorek", "bellman-ford"):
        closure(run, app, matrix, *options, "--algorithm", algorithm)
        report = run.report()
        assert (report["mismatches"], report["agreement"]["wrong"]) == (0, 0)
        assert report["operations"] == report["iterations"] * 17**3


@needs_data
@pytest.mark.slow
def test_long_paths_on_rtl(run: Run) -> None:
    """Rounds integer lengths up to 3303 in fp16, by less than the bound."""
    whole = read_matrix(_real("test_FW_1000.mtx"))
    assert whole.shape == (1000, 1000)
    matrix = run.save("g.npy", whole[:250, :250])
    values = closure(run, "apsp", matrix, "--set", "ops=minplus")
    report = run.report()
    assert report["mismatches"] == 0
    assert report["agreement"]["criterion"] == "relative"
    assert 0 < report["relative_error"]["max"] < report["agreement"]["bound"] < 0.006
    assert report["operations"] == report["iterations"] * 63**3
    assert values[np.isfinite(values)].max() == pytest.approx(3303, rel=0.006)


@pytest.mark.long
def test_a_thousand_vertices(run: Run) -> None:
    """Pairs two edges apart by way of vertex 1: the first iteration finds all paths, the second
    sees them rounded, the third changes nothing."""
    generator = np.random.default_rng(5)
    there, back = generator.integers(1, 6000, (2, 999))
    spokes: Edges = [(v, 1, float(w)) for v, w in enumerate(there, 2)]
    spokes += [(1, v, float(w)) for v, w in enumerate(back, 2)]
    graph = write_graph(run.directory / "g.mtx", spokes, 1000)
    values = closure(run, "apsp", graph, *MODEL, "--set", "tile=16", "--set", "ops=minplus")
    report = run.report()
    assert (report["iterations"], report["settled"]) == (3, True)
    assert report["agreement"]["criterion"] == "relative"
    assert 0 < report["relative_error"]["max"] < report["agreement"]["bound"] < 0.006
    assert report["operations"] == 3 * 63**3
    lengths = there[:, np.newaxis] + back
    np.fill_diagonal(lengths, 0)
    np.testing.assert_allclose(values[1:, 1:], lengths, rtol=0.006)
