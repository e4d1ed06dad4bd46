"""The table of what the lanes' cycles go to, and the matrices that it is about."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.matraptor.cycles.breakdown import REASONS
from tilewright.tables import matraptor_breakdown as breakdown
from tilewright.tables.sparse_kinds import KINDS, products
from tilewright.verif.kit.pages import page

WHOLE = 5
"""Rows before the shares."""


@pytest.mark.slow
def test_every_cycle_is_in_the_table() -> None:
    said: list[str] = []
    found = breakdown.matraptor_breakdown("cmos", said.append, sizes=(30_000, 60_000))
    assert len(said) == (2 * 2 + len(breakdown.HARDWARE)) * len(KINDS)
    assert [part.table.split(", ")[1] for part in found.parts] == [
        "64-byte accesses", "32-byte accesses", "more hardware"
    ]  # fmt: skip
    more = found.parts[-1]
    assert more.columns == [f"{kind}, {what}" for kind in KINDS for what in breakdown.HARDWARE]
    cycles = next(row.ours for row in more.rows if row.label == "cycles")
    assert len(set(cycles)) == len(cycles)
    shares = np.array([row.ours for row in more.rows[WHOLE:]], float)
    np.testing.assert_allclose(shares.sum(axis=0), 100)
    for part in found.parts[:-1]:
        assert len(part.columns) == 2 * len(KINDS)
        assert [row.label for row in part.rows[WHOLE:]] == [f"{w}, %" for w in REASONS.values()]
        figures = np.array([row.ours for row in part.rows], float)
        np.testing.assert_allclose(figures[WHOLE:].sum(axis=0), 100)
        labels = [row.label for row in part.rows]
        assert figures[labels.index("jobs")].min() >= 1
        assert figures[labels.index("ratio to the bound")].min() >= 1
        taken = figures[labels.index("products, %")] / 100 * figures[labels.index("cycles")] * 8
        asked = [float(column.split(", ")[1].split()[0]) * 1e6 for column in part.columns]
        np.testing.assert_allclose(taken, asked, atol=50_000)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_what_they_say(kind: str) -> None:
    make = KINDS[kind]
    matrix, again, other = make(100_000, 1), make(100_000, 1), make(100_000, 2)
    assert (matrix != again).nnz == 0
    assert matrix.shape == other.shape
    assert (matrix != other).nnz > 0
    assert products(matrix) == int((matrix @ matrix).sum())
    assert 0.5 * 100_000 < products(matrix) < 1.3 * 100_000
    row, column = matrix.tocoo().coords
    lengths = np.diff(matrix.indptr)
    if kind == "power law":
        assert (matrix != matrix.T).nnz == 0
        assert lengths.max() > 8 * lengths.mean()
    elif kind == "banded":
        assert abs(row - column).max() == 20
        assert lengths.max() < 2 * lengths.mean()
    else:
        blocks = np.unique(row // 8 * matrix.shape[0] + column // 8)
        assert matrix.nnz == 64 * len(blocks)


@pytest.mark.long
def test_the_page_has_these_figures() -> None:
    text = page("matraptor.md").read_text()
    for part in breakdown.matraptor_breakdown("cmos").parts:
        assert f"| {' | '.join(part.columns)} |" in text
        for row in part.rows:
            assert f"| {' | '.join([row.label, *row.cells(row.ours)])} |" in text


@pytest.mark.slow
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "breakdown.json"
    assert main(["table", "matraptor-breakdown", "--target", "ice40", "--json", str(target)]) == 2
    assert capsys.readouterr().err == (
        "error: matraptor-breakdown is computed by a model: no --target, not 'ice40'\n"
    )
    assert not target.exists()
    monkeypatch.setattr(breakdown.matraptor_breakdown, "__kwdefaults__", {"sizes": (20_000,)})
    assert main(["table", "matraptor-breakdown", "--json", str(target)]) == 0
    assert "merging, %" in capsys.readouterr().out
    assert len(json.loads(target.read_text())["parts"]) == 3
