"""``tilewright run`` of graphs: what formats hold, what they round, and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array
from tilewright.verif.apps.graphs.examples import Edges, random_edges, write_graph
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data

MODEL = ("--backend", "model")


def passed(run: Run, app: str, graph: Path, *options: object) -> dict[str, Any]:
    """The report of a run that passes; its values are in d.npy."""
    words = ("-o", run.directory / "d.npy", "--json", run.directory / "report.json")
    assert run(app, graph, *MODEL, *words, *options) == 0
    return run.report()


def lengths(edges: Edges, vertices: int) -> NDArray[Any]:
    rows, cols, weights = (np.array(x) for x in zip(*edges, strict=True))
    matrix = csr_array((weights, (rows - 1, cols - 1)), shape=(vertices, vertices))
    found: NDArray[Any] = csgraph.floyd_warshall(matrix.toarray())
    return found


@pytest.mark.parametrize("algorithm", ["leyzorek", "bellman-ford"])
@pytest.mark.parametrize(
    ("fmt", "places"), [("fp8e5m2", 3), ("fp16", 11), ("bf16", 8), ("fp32", 24), ("fp64", 53)]
)
def test_rounded_sums_stay_within_their_bound(
    run: Run, fmt: str, places: int, algorithm: str
) -> None:
    """Relatively, without subnormal numbers: one rounding an iteration and one of the weights."""
    generator = np.random.default_rng(places)
    edges = random_edges(generator, 12, 30, lambda n: generator.uniform(1, 2, n))
    edges = [(i, j, w) for i, j, w in {(i, j): (i, j, w) for i, j, w in edges}.values() if i != j]
    graph = write_graph(run.directory / "g.mtx", edges, 12)
    report = passed(run, "apsp", graph, "--set", f"format={fmt}", "--algorithm", algorithm)
    agreement = report["agreement"]
    assert agreement["criterion"] == "relative"
    roundings = report["iterations"] + 1
    assert agreement["bound"] <= roundings * 2.0**-places * 2.1 + 1e-14
    expected = lengths(edges, 12)
    np.testing.assert_allclose(
        np.load(run.directory / "d.npy"), expected, rtol=roundings * 2.0**-places * 2.1 + 1e-14
    )
    assert fmt == "fp64" or report["relative_error"]["max"] > 1e-9
    assert report["relative_error"]["max"] == pytest.approx(agreement["worst"])
    if fmt == "fp64":
        assert run.err == ""
    else:
        holds = "; --set format=fp64 holds them exactly\n"
        count = f"{len(edges)} of {len(edges)} weights"
        line = f"warning: {graph}: {count} are not {fmt} numbers and are rounded{holds}"
        assert run.err == line


def test_sums_of_mixed_signs(run: Run) -> None:
    """Bounded absolutely: results near 0 have no small relative error."""
    edges: Edges = [(1, 2, 1000.1), (2, 3, -1000.0), (3, 4, 0.3), (1, 4, 7.7), (4, 5, -0.7)]
    graph = write_graph(run.directory / "g.mtx", edges, 5)
    for algorithm in ("leyzorek", "bellman-ford"):
        agreement = passed(run, "apsp", graph, "--algorithm", algorithm)["agreement"]
        assert agreement["criterion"] == "absolute"
        assert 0.09 < agreement["worst"] <= agreement["bound"] < 7
        assert "absolute error at most " in run.out


def test_integers_are_exact_until_the_significand_ends(run: Run) -> None:
    """2048 is the last integer of fp16 below which all are exact."""
    edges: Edges = [(1, 2, 1024), (2, 3, 1023), (3, 4, 1), (1, 4, 2048)]
    graph = write_graph(run.directory / "g.mtx", edges, 4)
    assert passed(run, "apsp", graph)["agreement"]["criterion"] == "exact"
    assert run.err == ""
    write_graph(graph, [*edges[:2], (3, 4, 2)], 4)
    report = passed(run, "apsp", graph)
    assert report["agreement"]["criterion"] == "relative"
    assert run.err == (
        f"warning: {graph}: values of paths are not all fp16 numbers and are rounded in every "
        f"iteration; --set format=fp32 holds them exactly\n"
    )
    assert passed(run, "apsp", graph, "--set", "format=int16")["agreement"]["criterion"] == "exact"
    assert run.err == ""
    assert np.load(run.directory / "d.npy")[0, 3] == 2049


@pytest.mark.parametrize("fmt", ["int8", "int16", "int32"])
def test_integer_formats(run: Run, fmt: str) -> None:
    """Distinguishes a path from no path, also where lengths are negative."""
    edges: Edges = [(1, 2, 5), (2, 3, -7), (3, 4, 9), (5, 1, -20), (4, 2, 2)]
    graph = write_graph(run.directory / "g.mtx", edges, 6)
    for app in ("apsp", "mst", "gtc", "aplp"):
        option = {"mst": ["--undirected"], "aplp": ["--upper-triangle"]}.get(app, [])
        report = passed(run, app, graph, *option, "--set", f"format={fmt}")
        assert report["agreement"]["criterion"] == "exact"
        values = np.load(run.directory / "d.npy")
        assert np.isinf(values[5, 0]) != (app == "gtc")


@pytest.mark.parametrize("app", ["maxrp", "minrp"])
def test_products_round_for_every_edge(run: Run, app: str) -> None:
    """The bound grows with the edges, and so may the error."""
    edges: Edges = [(i, i + 1, 0.9) for i in range(1, 9)]
    graph = write_graph(run.directory / "g.mtx", edges, 9)
    report = passed(run, app, graph, "--set", "format=fp8e5m2")
    assert 0.01 < report["agreement"]["worst"] <= report["agreement"]["bound"] < 20
    narrow = report["agreement"]["bound"]
    passed(run, app, graph, "--set", "format=fp32")
    assert run.report()["agreement"]["bound"] < 1e-5 < narrow


def test_weights_made_reliabilities(run: Run) -> None:
    edges: Edges = [(1, 2, 0.5), (2, 3, 0.25), (1, 3, 1.0), (3, 1, 0.0)]
    graph = write_graph(run.directory / "g.mtx", edges, 3)
    passed(run, "maxrp", graph, "--weights", "rate", "--set", "format=fp64")
    values = np.load(run.directory / "d.npy")
    expected = [[0, 0.5, 0.75], [0.25, 0, 0.25], [0, 0.5, 0]]
    np.testing.assert_allclose(values, np.exp(-np.array(expected)))
    write_graph(graph, edges[:3], 3)
    passed(run, "minrp", graph, "--weights", "share")
    assert np.load(run.directory / "d.npy")[0].tolist() == [1, 0.5, 0.125]


@needs_data
def test_real_graph_in_a_narrow_format(run: Run) -> None:
    report = passed(run, "apsp", data_file("matrices/ldbc-directed-example.mtx"))
    assert 0 < report["relative_error"]["mean"] < report["relative_error"]["max"] < 2e-3
    assert report["rounded_between_iterations"] > 0
    assert "fp32 values rounded to fp16" in run.out
    assert "16 of 17 weights are not fp16 numbers" in run.err
