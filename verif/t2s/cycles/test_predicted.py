"""Predicted cycles in ``tilewright t2s show``, and the table of rates."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.cycles.machine import counts_of
from tilewright.tables.t2s.rate import BAR, SMALL, THESIS, t2s_rate
from tilewright.verif.kit.pages import page
from tilewright.verif.t2s.designs import FOLDER

GEMM = str(FOLDER / "gemm.py")
BOUNDS = {"i": 7, "j": 8, "k": 17}

_NO_HARDWARE = (
    "from tilewright.hw.t2s.language import compute, indices, tensor\n"
    'i, k = indices("i k")\n'
    'A, X = tensor("A", "int8", i, k), tensor("X", "int8", k)\n'
    'Y = compute("Y", "int8", i, sum_over=k)[A[i, k] * X[k]]\n'
)


def _shown(file: str, report: Path, *words: str) -> dict[str, Any]:
    assert main(["t2s", "show", file, *words, "--json", str(report)]) == 0
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.slow
def test_show_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "II=2", "--set", "JJ=3", "--largest", "4", "--bounds", "i=7,j=8,k=17")
    found = _shown(GEMM, tmp_path / "r.json", *words)["predicted"]
    config = T2sConfig(design=GEMM, sizes="II=2,JJ=3", largest=4)
    assert found == asdict(counts_of(config, BOUNDS))
    told = capsys.readouterr().out
    assert f"{found['cycles']:,}, in {found['busy_cycles']:,} of them" in told
    assert f"{found['bytes_read']:,} read, {found['bytes_written']:,} written" in told


def test_what_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, report = tmp_path / "mine.py", tmp_path / "r.json"
    mine.write_text(_NO_HARDWARE)
    found = _shown(str(mine), report, "--bounds", "i=4,k=3")["predicted"]
    assert "Y.accumulate: an element keeps 1 sum, and one takes 4 cycles" in found["not_known"]
    assert "not known: " in capsys.readouterr().out
    found = _shown(GEMM, report, "--largest", "2", "--bounds", "i=4000,j=4000,k=4000")["predicted"]
    assert found == {"not_known": "8,000,000,000 iterations are more than 4,000,000"}


def test_without_bounds_nothing_is_predicted(tmp_path: Path) -> None:
    assert "predicted" not in _shown(GEMM, tmp_path / "r.json")


@pytest.mark.long
def test_rates() -> None:
    """All rates reach the bar, and the page has the command's output."""
    shown = page("t2s.md").read_text()
    rows = {row.label: row for row in t2s_rate("cmos").rows}
    for label in (*SMALL, *THESIS):
        row = rows[label]
        share, least = row.ours[4:6]
        assert share is not None
        assert share >= BAR == least
        figures = [*map(re.escape, row.cells(row.ours))]
        pattern = rf"│ {label} +│ +" + r" │ +".join(figures) + " │"
        assert re.search(pattern, shown), label
    for label in THESIS:
        assert rows[label].ours[:2] == rows[label].paper[:2]
