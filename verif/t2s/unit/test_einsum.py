"""``tilewright run einsum``, and the tables of mapped products."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.tables.t2s.steps import t2s_steps
from tilewright.verif.kit.pages import page

pytestmark = pytest.mark.long

A, B = np.arange(35).reshape(5, 7) - 17.0, np.arange(28).reshape(7, 4) - 11.0


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, array in (("a", A), ("b", B)):
        np.save(tmp_path / f"{name}.npy", array)
    return [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]


@pytest.mark.parametrize(
    "backend", ["model", *(pytest.param(x, marks=pytest.mark.slow) for x in ("cycles", "rtl"))]
)
def test_a_product(files: list[str], tmp_path: Path, backend: str) -> None:
    report, result = tmp_path / "r.json", tmp_path / "c.npy"
    words = ["--set", "largest=2", "--set", "format=int8", "--backend", backend]
    asked = ["run", "einsum", "ab, bc -> ac", *files, *words, "-o", str(result)]
    assert main([*asked, "--json", str(report)]) == 0
    assert np.array_equal(np.load(result), A @ B)
    found = json.loads(report.read_text())
    assert found["bounds"] == {"i": 5, "j": 4, "k": 7}
    assert (found["wrong"], found["mismatches"]) == (0, 0 if backend == "rtl" else None)
    assert ("cycles" in found) == (backend != "model")


def test_floats(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "largest=2", "--set", "format=bf16", "--backend", "model"]
    assert main(["run", "einsum", "ik,kj->ij", *files, *words]) == 0
    assert "NumPy's up to rounding" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ik,kj->ji", "{a}", "{b}"], "expression must be ik,kj->ij for gemm, not 'ik,kj->ji'"),
        (["ik,kj->ij", "{a}"], "operands must be 2 for ik,kj->ij, not 1"),
        (
            ["ik,kj->ij", "{b}", "{a}"],
            "B must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=fir"],
            "Y is no einsum: X has an index n + t",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=apsp"],
            "C is no einsum: its semiring is minplus",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=cgra/gemm"],
            "C is no einsum: its sums start from T",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--backend", "numpy"],
            "backend must be one of rtl, cycles, model, not 'numpy'",
        ),
    ],
)
def test_refused(
    files: list[str], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.format(a=files[0], b=files[1]) for word in words]
    assert main(["run", "einsum", *given, "--set", "largest=2"]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_mapping_of_ones_own(files: list[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, j, k = indices("i j k")\n'
        'A, B = tensor("A", "int16", i, k), tensor("B", "int16", k, j)\n'
        'C = compute("C", "int16", i, j, sum_over=k)[A[i, k] * B[k, j]]\n'
        'C.accumulate(stall="allowed")\n'
    )
    words = ["--spec", str(mine), "--backend", "model"]
    assert main(["run", "einsum", "ik,kj->ij", *files, *words]) == 0
    assert main(["generate", "t2s", "--spec", str(mine), "-o", str(tmp_path / "unit.v")]) == 0
    assert (tmp_path / "unit.v").read_text().count("endmodule") > 10


@pytest.mark.long
def test_the_page_has_the_steps() -> None:
    shown = page("t2s.md").read_text()
    for row in t2s_steps("cmos").rows:
        figures = [*map(re.escape, row.cells(row.ours))]
        pattern = rf"│ {row.label} +│ +" + r" │ +".join(figures) + " │"
        assert re.search(pattern, shown), row.label
