"""``tilewright t2s`` with mappings of sparse tensors: its output and its checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tilewright.cli import main
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.sparse.visiting import visit
from tilewright.hw.t2s.language import Computation
from tilewright.verif.t2s.designs import FOLDER

SPMM = [str(FOLDER / "sparse" / "spmm.py"), "--largest", "2", "--bounds", "i=7,j=8,k=5"]


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures that depend on the places of entries are upper bounds, or are not known."""
    report = tmp_path / "show.json"
    assert main(["t2s", "show", *SPMM, "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    # Tiles of 4 rows, 4 columns, 2 of k: of each row 2 entries, of each two vectors of 2.
    assert found["iterations"]["A_loader"] == 2 * 2 * 3 * 4 * 2
    assert found["iterations"]["B_loader"] == 2 * 2 * 3 * 2 * 2
    assert found["multiplications"] == {"defined": 7 * 8 * 5, "done": 2 * 2 * 3 * 4 * 2 * 2 * 2}
    assert found["predicted"] == {"not_known": "they depend on where entries are"}
    assert found["depths_depend_on_bounds"] == "they depend on where entries are"
    assert (found["depths"], found["interval"]) == ({}, None)
    told = capsys.readouterr().out
    assert "for kk < 2 where A(4 i + ii + 2 iii, 2 k + kk) is there:\n" in told
    assert "iterations, at most" in told
    assert "(x), done, at most" in told
    assert "counters" not in told


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t2s", "check", *SPMM]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [one[1].strip() for one in rows] == ["define", *passes.PASSES]
    assert {one[4].strip() for one in rows} == {"0"}


def test_check_finds_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The feeder of B visits all words, so elements receive words of other entries."""

    def wrong(program: Program, computation: Computation) -> Program:
        feeder = program.function("B_feeder")
        return visit(program, computation).with_function("B_feeder", lambda _: feeder)

    monkeypatch.setitem(passes.PASSES, "visit", wrong)
    assert main(["t2s", "check", *SPMM]) == 1
    assert "channel B_feeder[0] is left with" in " ".join(capsys.readouterr().out.split())
