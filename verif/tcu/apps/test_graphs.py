"""``tilewright run closure`` and ``distances``: results, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu.formulas import graphs as costs
from tilewright.sim.tcu.words import Array
from tilewright.verif.kit.commands import check_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ring = networkx.to_numpy_array(networkx.cycle_graph(13))
    two = np.kron(np.eye(2), networkx.to_numpy_array(networkx.path_graph(5)))
    contents = {
        "ring": ring, "two": two, "one": np.zeros((1, 1)), "way": np.triu(ring) * -2.5,
        "loop": ring + np.diag([0.0] * 12 + [1]), "weighted": ring * 3, "wide": np.ones((3, 4)),
        "inf": np.full((2, 2), np.inf), "nan": np.full((2, 2), np.nan), "complex": ring * 1j,
        "flat": np.ones(4),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    (tmp_path / "pattern.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    )
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    (agreement,) = report["references"]
    assert (agreement["source"], agreement["wrong"]) == ("SciPy", 0)
    return report


@pytest.mark.parametrize("words", ["int64", "fp32", "fp64", "boolean"])
@pytest.mark.parametrize("graph", ["ring", "two", "one", "way", "loop", "complex"])
@pytest.mark.usefixtures("files")
def test_closure(graph: str, words: str) -> None:
    report = report_of(f"run closure {graph}.npy --words {words} --m 16 --l 9 -o out.npy")
    a, out = np.load(f"{graph}.npy") != 0, np.load("out.npy")
    directed = networkx.from_numpy_array(a, create_using=networkx.DiGraph)
    reached = networkx.transitive_closure(directed, reflexive=False)
    expected = networkx.to_numpy_array(reached, nodelist=range(len(a)), dtype=int)
    assert out.tolist() == expected.tolist()
    cost = costs.closure(len(a), 4, semiring=words == "boolean")
    assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
    assert (report["cpu_words"], report["unit_time"]) == (cost.cpu, cost.unit_time(4, 9))
    assert (report["edges"], report["reached"]) == (a.sum(), expected.sum())


@pytest.mark.parametrize("words", ["int64", "fp32", "fp64"])
@pytest.mark.usefixtures("files")
def test_distances(words: str) -> None:
    report = report_of(f"run distances ring.npy --words {words} --m 16 --l 9 -o out.npy")
    out = np.load("out.npy")
    assert out[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1]
    cost = costs.distances(13, 6, 4)
    assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
    assert (report["cpu_words"], report["unit_time"]) == (cost.cpu, cost.unit_time(4, 9))
    assert (report["diameter"], report["components"]) == (6, 1)


@pytest.mark.usefixtures("files")
def test_components_and_files_of_entries(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("run distances two.npy -o out.npy --weak")
    out = np.load("out.npy")
    assert np.isinf(out[:5, 5:]).all()
    assert out[5:, 5:].tolist() == out[:5, :5].tolist()
    assert (report["components"], report["edges"], report["diameter"]) == (2, 8, 4)
    assert "50 of 100 pairs are finite" in " ".join(capsys.readouterr().out.split())
    assert report_of("run distances pattern.mtx")["diameter"] == 2
    assert report_of("run distances one.npy")["calls"] == 0


@pytest.mark.parametrize(("command", "wrong"), [("closure", 143), ("distances", 156)])
@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    command: str, wrong: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def untouched(unit: Any, a: Any) -> Any:
        return a if command == "closure" else a * 7

    monkeypatch.setattr(f"tilewright.apps.tcu.graphs.{command}", untouched)
    assert main(["run", command, "ring.npy"]) == 1
    assert f"{wrong} DIFFERENT" in capsys.readouterr().out


C, D = "run closure", "run distances"
BAD_WORDS = {
    f"{C} wide.npy": "wide.npy: must be square, not 3 x 4",
    f"{C} flat.npy": "flat.npy: must hold a matrix (2 dimensions), not 1 dimension",
    f"{C} inf.npy": "inf.npy: must hold finite numbers; inf means no edge with --words minplus "
    "alone",
    f"{C} nan.npy": "nan.npy: must hold numbers, not nan",
    f"{C} ring.npy --words complex": "--words must be one of int64, fp32, fp64, boolean, "
    "minplus, not 'complex'",
    f"{D} wide.npy": "wide.npy: must be square, not 3 x 4",
    f"{D} ring.npy --words boolean": "--words must be one of int64, fp32, fp64, not 'boolean'",
    f"{D} weighted.npy": "weighted.npy: must be a graph without weights, 0 and 1, not 3 in row 0, "
    "column 1 (from 0); run apsp takes weights",
    f"{D} nan.npy": "nan.npy: must be a graph without weights, 0 and 1, not nan in row 0, column "
    "0 (from 0); run apsp takes weights",
    f"{D} complex.npy": "complex.npy: must be a graph without weights, 0 and 1, not 0+1j in row "
    "0, column 1 (from 0); run apsp takes weights",
    f"{D} loop.npy -o out.npy": "loop.npy: must have no edge from a vertex to itself, as 12 has "
    "(from 0)",
    f"{D} one-way.npy": "one-way.npy: must be undirected, not with an edge from 0 to 1 and none "
    "back (from 0)",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("one-way.npy", np.triu(np.load("ring.npy")))
    check_refused(words.split(), BAD_WORDS[words], files, capsys)


@pytest.fixture
def files_of_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    present = rng.random((21, 21)) < 0.12
    contents = {
        "whole": np.where(present, rng.integers(1, 99, present.shape), 0),
        "thirds": np.where(present, rng.integers(1, 99, present.shape) / 3, np.inf),
        "loop": np.array([[7.0, 1], [0, 0]]), "below": np.array([[0, 1.0], [-2.5, 0]]),
        "none": np.zeros((3, 3)), "nan": np.array([[0, np.nan], [1, 0]]), "wide": np.ones((3, 4)),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    header = "%%MatrixMarket matrix coordinate"
    Path("entries.mtx").write_text(
        f"{header} real general\n4 4 5\n1 2 0\n2 3 2.5\n3 2 1\n1 3 9\n1 3 4\n"
    )
    Path("pattern.mtx").write_text(f"{header} pattern symmetric\n3 3 2\n2 1\n3 2\n")
    return tmp_path


def report_of_lengths(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    assert not any(one["wrong"] for one in report["references"])
    return report


def expected(lengths: Array) -> Array:
    """Computes the lengths of paths of one edge or more."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(lengths)))
    edges = np.argwhere((lengths != 0) & np.isfinite(lengths)).tolist()
    graph.add_weighted_edges_from((i, j, float(lengths[i, j])) for i, j in edges)
    found = np.full(lengths.shape, np.inf)
    for start, paths in networkx.all_pairs_dijkstra_path_length(graph):
        for before in graph.predecessors(start):
            for end, length in paths.items():
                through = graph[before][start]["weight"] + length
                found[before, end] = min(found[before, end], through)
    return found


@pytest.mark.parametrize("graph", ["whole", "thirds"])
@pytest.mark.usefixtures("files_of_lengths")
def test_lengths(graph: str) -> None:
    report = report_of_lengths(f"run closure {graph}.npy --words minplus --m 16 --l 9 -o out.npy")
    lengths = np.load(f"{graph}.npy")
    paths = expected(lengths)
    np.testing.assert_allclose(np.load("out.npy"), paths, rtol=0 if graph == "whole" else 1e-14)
    cost = costs.closure(21, 4, semiring=True)
    assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
    assert (report["cpu_words"], report["unit_time"]) == (cost.cpu, cost.unit_time(4, 9))
    assert report["words"] == "minplus"
    assert report["edges"] == np.count_nonzero((lengths != 0) & np.isfinite(lengths))
    assert report["reached"] == np.count_nonzero(np.isfinite(paths))
    assert report["longest"] == pytest.approx(paths[np.isfinite(paths)].max())
    assert len(report["references"]) == (1 if graph == "whole" else 2)


@pytest.mark.usefixtures("files_of_lengths")
def test_files_of_entries(capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of length 0 are edges, of two the shorter counts, patterns have length 1."""
    report_of_lengths("run closure entries.mtx --words minplus -o out.npy")
    none = np.inf
    assert np.load("out.npy").tolist() == [
        [none, 0, 2.5, none], [none, 3.5, 2.5, none], [none, 1, 3.5, none], [none] * 4,
    ]  # fmt: skip
    said = " ".join(capsys.readouterr().out.split())
    assert "4 vertices, padded to 16, 4 edges" in said
    assert "smaller than a block of 16 x 16: padded to one" in said
    report_of_lengths("run closure pattern.mtx --words minplus -o out.npy")
    assert np.load("out.npy").tolist() == [[2, 1, 2], [1, 2, 1], [2, 1, 2]]
    report_of_lengths("run closure loop.npy --words minplus -o out.npy")
    assert np.load("out.npy").tolist() == [[7, 1], [none, none]]


@pytest.mark.parametrize(("graph", "verdict"), [("whole", "DIFFERENT"), ("thirds", "BEYOND")])
@pytest.mark.usefixtures("files_of_lengths")
def test_a_wrong_result_is_told_of_lengths(
    graph: str, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def longer(unit: Any, a: Any) -> Any:
        return np.where(np.isfinite(paths), paths + 1e-9, np.inf)

    paths = expected(np.load(f"{graph}.npy"))
    monkeypatch.setattr("tilewright.apps.tcu.graphs.closure", longer)
    assert main(["run", "closure", f"{graph}.npy", "--words", "minplus"]) == 1
    assert verdict in capsys.readouterr().out


BAD_WORDS_OF_LENGTHS = {
    "below": "below.npy: the weight of the edge 2 -> 1 must be 0 or more, not -2.5",
    "none": "none.npy: the graph is empty: there must be at least one edge",
    "nan": "nan.npy: the weight of the edge 1 -> 2 is NaN; weights must be finite numbers",
    "wide": "wide.npy: an adjacency matrix must be square, not 3 x 4",
}


@pytest.mark.parametrize("graph", BAD_WORDS_OF_LENGTHS)
def test_bad_graphs(graph: str, files_of_lengths: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "closure", f"{graph}.npy", "--words", "minplus", "-o", "out.npy"]
    check_refused(words, BAD_WORDS_OF_LENGTHS[graph], files_of_lengths, capsys)
