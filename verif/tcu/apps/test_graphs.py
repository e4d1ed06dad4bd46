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
