"""``tilewright run closure --words minplus``: lengths of shortest paths, and refusals."""

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


def report_of(words: str) -> dict[str, Any]:
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
@pytest.mark.usefixtures("files")
def test_lengths(graph: str) -> None:
    report = report_of(f"run closure {graph}.npy --words minplus --m 16 --l 9 -o out.npy")
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


@pytest.mark.usefixtures("files")
def test_files_of_entries(capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of length 0 are edges, of two the shorter counts, patterns have length 1."""
    report_of("run closure entries.mtx --words minplus -o out.npy")
    none = np.inf
    assert np.load("out.npy").tolist() == [
        [none, 0, 2.5, none], [none, 3.5, 2.5, none], [none, 1, 3.5, none], [none] * 4,
    ]  # fmt: skip
    said = " ".join(capsys.readouterr().out.split())
    assert "4 vertices, padded to 16, 4 edges" in said
    assert "smaller than a block of 16 x 16: padded to one" in said
    report_of("run closure pattern.mtx --words minplus -o out.npy")
    assert np.load("out.npy").tolist() == [[2, 1, 2], [1, 2, 1], [2, 1, 2]]
    report_of("run closure loop.npy --words minplus -o out.npy")
    assert np.load("out.npy").tolist() == [[7, 1], [none, none]]


@pytest.mark.parametrize(("graph", "verdict"), [("whole", "DIFFERENT"), ("thirds", "BEYOND")])
@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    graph: str, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def longer(unit: Any, a: Any) -> Any:
        return np.where(np.isfinite(paths), paths + 1e-9, np.inf)

    paths = expected(np.load(f"{graph}.npy"))
    monkeypatch.setattr("tilewright.apps.tcu.graphs.closure", longer)
    assert main(["run", "closure", f"{graph}.npy", "--words", "minplus"]) == 1
    assert verdict in capsys.readouterr().out


BAD_WORDS = {
    "below": "below.npy: the weight of the edge 2 -> 1 must be 0 or more, not -2.5",
    "none": "none.npy: the graph is empty: there must be at least one edge",
    "nan": "nan.npy: the weight of the edge 1 -> 2 is NaN; weights must be finite numbers",
    "wide": "wide.npy: an adjacency matrix must be square, not 3 x 4",
}


@pytest.mark.parametrize("graph", BAD_WORDS)
def test_bad_graphs(graph: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "closure", f"{graph}.npy", "--words", "minplus", "-o", "out.npy"]
    check_refused(words, BAD_WORDS[graph], files, capsys)
