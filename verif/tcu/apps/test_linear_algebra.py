"""``tilewright run eliminate``: results, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu.formulas import elimination as costs
from tilewright.verif.kit.commands import check_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((13, 13)) + 13 * np.eye(13)
    singular = a.copy()
    singular[7] = singular[2] + singular[4]
    contents = {
        "a": a, "ac": a * (2 + 1j), "b": rng.standard_normal(13), "bs": np.eye(13)[:, :3],
        "wide": np.ones((3, 4)), "cube": np.ones((13, 2, 2)), "zero": np.zeros((4, 4)),
        "short": np.ones(12), "nan": np.full((3, 3), np.nan), "long": a * 1e39,
        "swap": np.array([[0.0, 1], [1, 0]]), "i": rng.integers(-(2**50), 2**50, (19, 19)),
        "ib": rng.integers(0, 99, 19), "part": np.ones((2, 2)),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize("right", ["", "b", "bs"])
@pytest.mark.parametrize(
    ("a", "words", "dtype"),
    [("a", "", "float64"), ("a", "fp32", "float32"), ("a", "complex64", "complex64"),
     ("ac", "", "complex128")],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_factors_and_solutions(a: str, words: str, dtype: str, right: str) -> None:
    report = report_of(
        f"run eliminate {a}.npy --m 16 --l 9 -o out.npy"
        + (f" --words {words}" if words else "")
        + (f" --solve {right}.npy" if right else "")
    )
    matrix, out = np.load(f"{a}.npy"), np.load("out.npy")
    assert out.dtype == dtype
    near = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    cost = costs.eliminate(13, 4)
    if right:
        b = np.load(f"{right}.npy")
        assert out.shape == b.shape
        np.testing.assert_allclose(matrix @ out, b, atol=near)
        cost += costs.solve(13, b.size // 13)
    else:
        low, high = np.tril(out, -1) + np.eye(13), np.triu(out)
        np.testing.assert_allclose(low @ high, matrix, atol=near)
        assert report["growth"] == pytest.approx(np.abs(high).max() / np.abs(matrix).max())
    assert (report["calls"], report["rows"], report["cpu_words"]) == (
        cost.calls, cost.rows, cost.cpu,
    )  # fmt: skip
    assert report["unit_time"] == cost.unit_time(4, 9)
    assert [one["wrong"] + one["left_out"] for one in report["references"]] == [0] * (
        2 if right else 1
    )


@pytest.mark.parametrize("right", ["", "--solve ib.npy"])
@pytest.mark.parametrize("modulus", [10007, 2**61 - 1])
@pytest.mark.usefixtures("files")
def test_residues(modulus: int, right: str) -> None:
    report = report_of(
        f"run eliminate i.npy --words modular --modulus {modulus} --m 16 -o out.npy {right}"
    )
    a, b, out = (np.load(f"{name}.npy").astype(object) for name in ("i", "ib", "out"))
    cost = costs.eliminate(19, 4, exact=True)
    if right:
        cost += costs.solve(19)
        assert (a @ out % modulus).tolist() == b.tolist()
    else:
        low, high = np.tril(out, -1) + np.eye(19, dtype=int), np.triu(out)
        assert (low @ high % modulus).tolist() == (a % modulus).tolist()
    assert (report["calls"], report["cpu_words"]) == (cost.calls, cost.cpu)
    assert (report["growth"], report["modulus"]) == (None, modulus)
    assert [(one["criterion"], one["wrong"]) for one in report["references"]] == [("exact", 0)] * (
        2 if right else 1
    )


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def untouched(unit: Any, a: Any) -> Any:
        return a

    monkeypatch.setattr("tilewright.apps.tcu.elimination.eliminate", untouched)
    assert main(["run", "eliminate", "a.npy"]) == 1
    assert "BEYOND" in capsys.readouterr().out


E = "run eliminate"
BAD_WORDS = {
    f"{E} wide.npy": "wide.npy: must be square, not 3 x 4",
    f"{E} b.npy": "b.npy: must hold a matrix (2 dimensions), not 1 dimension",
    f"{E} a.npy --words int64": "--words must be one of fp32, fp64, complex64, complex, "
    "modular, not 'int64'",
    f"{E} i.npy --words modular": "--words modular must come with --modulus P",
    f"{E} i.npy --words fp32 --modulus 7": "--modulus must come with --words modular, or without, "
    "not with fp32",
    f"{E} i.npy --modulus 15": "i.npy: words of eliminate must divide, which modular(15) does not",
    f"{E} part.npy --modulus 7": "part.npy: the pivot of row 1 (of 0..1) must be other than 0, as "
    "no rows are exchanged",
    f"{E} ac.npy --words fp64": "ac.npy: words of fp64 must be real numbers, not complex128",
    f"{E} a.npy --solve short.npy": "short.npy: must have 13 rows, as a.npy has, not be 12",
    f"{E} a.npy --solve cube.npy": "cube.npy: must have 13 rows, as a.npy has, not be 13 x 2 x 2",
    f"{E} swap.npy -o out.npy": "swap.npy: the pivot of row 0 (of 0..1) must be above 2.22e-16 in "
    "magnitude, not 0, as no rows are exchanged; run lu exchanges them",
    f"{E} zero.npy": "zero.npy: the pivot of row 0 (of 0..3) must be other than 0, as no rows are "
    "exchanged; run lu exchanges them",
    f"{E} nan.npy": "nan.npy: must hold finite numbers, not nan or inf",
    f"{E} long.npy --words fp32": "long.npy: words of fp32 do not hold the largest of the numbers "
    "given",
    f"{E} a.npy --m 15": "--m must be a square, as 9 and 16 are, not 15",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(words.split(), BAD_WORDS[words], files, capsys)
