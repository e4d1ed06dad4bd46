"""``tilewright run pagerank|bfs|sssp|kcore|khop`` on the model, against libraries and known
answers."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sida.images import matrix_images
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.iterations.solving import random_graph

pytestmark = pytest.mark.quick

PATH = csr_array((np.array([2.0, 3.0, 4.0]), ([0, 1, 2], [1, 2, 3])), shape=(5, 5))
"""A path of three edges, and a vertex that none leads to."""


def test_a_path_step_by_step(run: Run) -> None:
    graph, out = save_graph(run, PATH), run.directory / "x.npy"
    found = report(run, "bfs", graph, "-o", out)
    assert np.load(out).tolist() == [0, 1, 2, 3, -1]
    # Three steps, and one that finds nothing new.
    assert (found["iterations"], found["passes"], found["wasted"]) == (4, 2, 0)
    assert (found["vertices"], found["edges"], found["reached"]) == (5, 3, 4)
    assert found["residual"]["value"] == 0
    assert found["counters"]["elements"] == 2 * 3
    found = report(run, "bfs", graph, "--source", 3, "-o", out)
    assert np.load(out).tolist() == [-1, -1, 0, 1, -1]
    assert (found["iterations"], found["passes"], found["wasted"]) == (2, 1, 0)
    found = report(run, "sssp", graph, "-o", out)
    assert np.load(out).tolist() == [0, 2, 5, 9, np.inf]
    found = report(run, "khop", graph, "--hops", 1, "-o", out)
    assert np.load(out).tolist() == [0, 1, -1, -1, -1]
    assert (found["iterations"], found["wasted"]) == (1, 1)
    found = report(run, "kcore", graph, "-o", out)
    assert np.load(out).tolist() == [1, 1, 1, 1, 0]
    assert "every value equal" in run.out


def test_what_is_in_memory(run: Run) -> None:
    """The image is the driver's, with steps of 64. An edge far above the diagonal is not stored by
    rows."""
    edges = csr_array(([1.0, 1, 1], ([0, 150, 199], [150, 0, 198])), shape=(200, 200))
    report(run, "bfs", save_graph(run, edges))
    fmt = FORMATS["fp32"]
    images = matrix_images(columns_of(edges, fmt), fmt, late=64)
    stored = sum(map(len, images.values()))
    assert stored == 2 * 201 * 4 + 5 * 8
    assert f"3 elements by columns, 2 late ones by rows; {stored:,} bytes" in run.out


@pytest.mark.parametrize("value", slow_but(["fp32"], ["fp32", "fp64", "fp16", "int32"]))
def test_random_graphs(run: Run, value: str) -> None:
    graph = random_graph(7, 70, density=0.06)
    path, out = save_graph(run, graph), run.directory / "x.npy"
    given = ("--set", f"value={value}", "-o", out)
    report(run, "sssp", path, "--source", 4, *given)
    assert (np.load(out) == dijkstra(graph, indices=3)).all()
    report(run, "bfs", path, *given)
    hops = dijkstra(graph, unweighted=True, indices=0)
    assert (np.load(out) == np.where(np.isinf(hops), -1, hops)).all()
    report(run, "khop", path, "--hops", 3, *given)
    assert (np.load(out) == np.where(hops <= 3, hops, -1)).all()
    found = report(run, "kcore", path, *given)
    assert found["reference"]["wrong"] == 0
    if value == "int32":
        return
    tight = {"fp32": 1e-6, "fp64": 1e-13, "fp16": 2e-3}[value]
    for options in ((), ("--tolerance", tight)):
        found = report(run, "pagerank", path, *options, *given)
        whole = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
        ranks = networkx.pagerank(whole, tol=1e-16)
        error = np.abs(np.load(out) - [ranks[vertex] for vertex in range(70)]).sum()
        assert error == pytest.approx(found["reference"]["error"], rel=0.1, abs=1e-14)
        limit = found["residual"]["limit"]
        # Roundings of the order of ten an iteration.
        unit = {"fp32": 2**-24, "fp64": 2**-53, "fp16": 2**-11}[value]
        assert error <= found["reference"]["allowed"] < 5.7 * limit + 150 * unit
        assert found["residual"]["value"] < limit
        assert found["reference"]["wrong"] == 0
    assert limit == pytest.approx(tight, rel=1e-3)


@needs_data
def test_the_karate_club(run: Run) -> None:
    graph, out = data_file("matrices/karate.mtx"), run.directory / "x.npy"
    club = networkx.karate_club_graph()
    report(run, "kcore", graph, "-o", out)
    assert np.load(out).tolist() == list(networkx.core_number(club).values())
    report(run, "bfs", graph, "-o", out)
    lengths = networkx.single_source_shortest_path_length(club, 0)
    assert np.load(out).tolist() == [lengths[vertex] for vertex in range(34)]
    found = report(run, "pagerank", graph, "-o", run.directory / "x.mtx")
    assert "highest at 34: 0.100919, 1: 0.0969976, 33: 0.0716931" in run.out
    assert (found["iterations"], found["passes"], found["wasted"]) == (30, 15, 0)
    assert found["held"]["most"] == 156


def test_alpha_and_tolerance(run: Run) -> None:
    graph = save_graph(run, random_graph(7, 70, density=0.06))
    counts = [
        report(run, "pagerank", graph, "--set", "value=fp64", *given)["iterations"]
        for given in ((), ("--alpha", 0.5), ("--tolerance", "1e-9"))
    ]
    assert counts[1] < counts[0] < counts[2]
    found = report(run, "pagerank", graph, "--alpha", 0)
    assert found["reference"]["wrong"] == 0


def test_a_tolerance_below_the_roundings(run: Run) -> None:
    """The report names what would converge."""
    graph = save_graph(run, random_graph(7, 70))
    report(run, "pagerank", graph, "--tolerance", 0, "--max-iterations", 60, status=1)
    said = " ".join(run.out.replace("│", " ").split())
    assert "--tolerance 1e-06 or --set value=fp64" in said
    report(run, "pagerank", graph, "--tolerance", 1e-6)
    assert "--set value=fp64" not in run.out


@pytest.mark.parametrize("app", ["pagerank", "bfs", "sssp", "kcore"])
def test_what_does_not_converge(run: Run, app: str) -> None:
    """The last values are kept, the residual named, and the status is 1."""
    graph, out = save_graph(run, random_graph(7, 70)), run.directory / "x.npy"
    found = report(run, app, graph, "--max-iterations", 1, "-o", out, status=1)
    assert not found["settled"]
    assert found["iterations"] == 1
    assert found["reference"] is None
    assert found["residual"]["value"] >= found["residual"]["limit"]
    assert f"NOT CONVERGED: {found['residual']['what']}" in " ".join(run.out.split())
    assert np.load(out).shape == (70,)
    if app == "bfs":
        hops = dijkstra(random_graph(7, 70), unweighted=True, indices=0)
        assert (np.load(out) == np.where(hops <= 1, hops, -1)).all()


def test_a_matrix_for_results(run: Run) -> None:
    """A column of Matrix Market."""
    out = run.directory / "x.mtx"
    report(run, "bfs", save_graph(run, PATH), "-o", out)
    assert out.read_text().split()[-7:] == ["5", "1", "0", "1", "2", "3", "-1"]
