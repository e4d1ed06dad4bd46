"""Outputs of graph commands besides values: critical paths, forests, files, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tilewright.apps.common.matrix_files import read_matrix
from tilewright.apps.common.picture import MatrixPlot
from tilewright.apps.graphs import paths
from tilewright.apps.graphs.closure_report import plot_of
from tilewright.apps.graphs.problems import PROBLEMS
from tilewright.hw.spec.host.plots import plotted
from tilewright.verif.apps.graphs.examples import Edges, closure, example, write_graph
from tilewright.verif.kit.commands import Run

pytestmark = pytest.mark.quick

MODEL = ("--backend", "model")


def test_critical_path(run: Run) -> None:
    graph, _ = example(run, "aplp")
    closure(run, "aplp", graph, *MODEL)
    assert run.report()["critical_path"] == {"vertices": [1, 3, 4, 5], "length": 8, "reference": 8}
    assert "1 -> 3 -> 4 -> 5" in run.out
    long = write_graph(run.directory / "l.mtx", [(i, i + 1, 1) for i in range(1, 20)], 20)
    closure(run, "aplp", long, *MODEL)
    assert "1 -> 2 -> 3 -> 4 -> 5 -> 6 -> ... -> 16 -> 17 -> 18 -> 19 -> 20" in run.out


def test_spanning_forest(run: Run) -> None:
    """Equal weights, weights of 0 and several components; the forest as a file."""
    graph, _ = example(run, "mst")
    tree = run.directory / "tree.mtx"
    closure(run, "mst", graph, *MODEL, "--tree", tree)
    assert run.report()["forest"] == {
        "edges": 4, "weight": 8.0, "candidates": 4, "reference_edges": 4, "reference_weight": 8.0,
    }  # fmt: skip
    lines = tree.read_text().splitlines()
    assert lines[0] == "%%MatrixMarket matrix coordinate real symmetric"
    entries = [tuple(map(float, line.split())) for line in lines if not line.startswith("%")]
    assert entries == [(6, 6, 4), (3, 1, 2), (3, 2, 2), (4, 2, 5), (6, 5, -1)]
    square: Edges = [(2, 1, 0), (3, 2, 0), (4, 3, 0), (4, 1, 0)]
    closure(run, "mst", write_graph(run.directory / "s.mtx", square, 4, "symmetric"), *MODEL)
    forest = run.report()["forest"]
    assert (forest["edges"], forest["weight"], forest["candidates"]) == (3, 0.0, 4)


def test_spanning_forest_is_exact_in_any_format(run: Run) -> None:
    """Rounding makes weights equal; the forest is still the one of the weights in the file."""
    generator = np.random.default_rng(3)
    edges = [(i, j, float(generator.uniform(1, 1.5))) for i in range(2, 12) for j in range(1, i)]
    graph = write_graph(run.directory / "g.mtx", edges, 11, "symmetric")
    closure(run, "mst", graph, *MODEL, "--set", "format=fp8e5m2")
    forest = run.report()["forest"]
    assert forest["candidates"] > forest["edges"] == 10
    assert forest["weight"] == pytest.approx(forest["reference_weight"], rel=1e-14)
    assert run.err.startswith(f"warning: {graph}: 110 of 110 weights are not fp8e5m2 numbers")


def test_values_as_files_and_pictures(run: Run) -> None:
    """Matrix Market keeps infinities; small values are dark, no path is white."""
    graph, expected = example(run, "apsp")
    out, picture = run.directory / "d.mtx", run.directory / "d.png"
    assert run("apsp", graph, *MODEL, "-o", out, "--picture", picture) == 0
    np.testing.assert_array_equal(read_matrix(out), expected)
    assert picture.read_bytes().startswith(b"\x89PNG")
    figure = Figure()
    plot_of(PROBLEMS["apsp"], str(graph), expected).draw(figure)
    axes, bar = figure.get_axes()
    assert axes.get_title() == f"shortest paths of {graph.name}"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("to vertex", "from vertex")
    assert bar.get_ylabel() == "length of the shortest path"
    (image,) = axes.get_images()
    values = image.get_array()
    assert values is not None
    colours = image.to_rgba(values)
    light = colours[..., :3] @ [0.2126, 0.7152, 0.0722]
    assert (colours[np.isinf(expected), 3] == 0).all()
    order = np.argsort(expected[np.isfinite(expected)], kind="stable")
    assert (np.diff(light[np.isfinite(expected)][order]) > -1e-6).all()


@pytest.mark.parametrize("value", [3.0, np.inf, np.nan])
@pytest.mark.parametrize("counts", [False, True])
def test_a_plot_of_one_value(value: float, counts: bool) -> None:
    """Plots a matrix whose values are all the same, or that has none."""
    plot = MatrixPlot(
        title="a", rows="b", columns="c", values="d", matrix=np.full((1, 9), value), counts=counts
    )
    assert plotted("png", "a", plot.draw).startswith(b"\x89PNG")


def test_a_wrong_value_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds one value of the closure that is one bit off, or that has a path where none exists."""
    honest = paths.close
    for app, wrong, place in [
        ("apsp", 6.0, (0, 3)), ("apsp", np.inf, (0, 3)), ("apsp", 9.0, (0, 4)),
        ("mcp", np.nan, (0, 1)), ("gtc", 1.0, (0, 4)), ("aplp", -np.inf, (0, 4)),
        ("mst", 3.0, (0, 1)),
    ]:  # fmt: skip

        def bent(*arguments: Any, wrong: float = wrong, place: Any = place, **named: Any) -> Any:
            found = honest(*arguments, **named)
            found.values[place] = wrong
            return found

        monkeypatch.setattr(paths, "close", bent)
        graph, _ = example(run, app)
        assert run(app, graph, *MODEL, "--json", run.directory / "report.json") == 1
        assert run.report()["agreement"]["wrong"] == 1
        assert "DIFFERENT: 1 values are wrong" in run.out
