"""``tilewright run polyval``: values, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu.formulas import polynomials as costs
from tilewright.verif.kit.commands import check_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    contents = {
        "a": rng.standard_normal(50), "x": rng.uniform(-1.2, 1.2, 70)[:, None],
        "ai": rng.integers(-9, 9, 9), "xi": rng.integers(-9, 9, (1, 30)), "far": np.full(3, 2**40),
        "c": rng.standard_normal(20) + 1j, "wide": np.ones((3, 4)), "huge": np.full(5, 1e200),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize(
    ("a", "x", "options", "dtype"),
    [("a", "x", "", "float64"), ("a", "x", "--words fp32", "float32"), ("a", "c", "", "complex128"),
     ("c", "x", "--words complex64", "complex64"), ("ai", "xi", "--words int64", "int64"),
     ("ai", "far", "--modulus 97", "int64"), ("a", "x", "--weak", "float64")],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_values(
    a: str, x: str, options: str, dtype: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(f"run polyval {a}.npy {x}.npy --m 16 --l 9 -o out.npy {options}")
    coefficients, points, out = (np.load(f"{name}.npy") for name in (a, x, "out"))
    points = points.reshape(-1)
    assert out.dtype == dtype
    if dtype == "int64":
        modulus = 97 if "modulus" in options else 1 << 64
        seen = [
            sum(int(c) * int(x) ** k for k, c in enumerate(coefficients)) % modulus for x in points
        ]
        assert [value % modulus for value in out.tolist()] == seen
        assert report["error_bound"] is None
    else:
        expected = np.polynomial.polynomial.polyval(points, coefficients)
        assert np.abs(out - expected).max() <= 2 * report["error_bound"]
        assert f"{report['error_bound']:.2e}, at its largest" in capsys.readouterr().out
    cost = costs.polyval(len(coefficients), len(points), 4, "weak" in options)
    assert (report["calls"], report["rows"], report["cpu_words"]) == (
        cost.calls, cost.rows, cost.cpu,
    )  # fmt: skip
    assert report["unit_time"] == cost.unit_time(4, 9)
    (agreement,) = report["references"]
    parts = 1 + ("complex" in dtype)
    assert (agreement["values"], agreement["wrong"]) == (parts * len(points), 0)
    assert agreement["left_out"] == 0


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(unit: Any, a: Any, x: Any) -> Any:
        return np.polynomial.polynomial.polyval(x, a) + 1e-9

    monkeypatch.setattr("tilewright.apps.tcu.polynomials.polyval", wrong)
    assert main(["run", "polyval", "a.npy", "x.npy"]) == 1
    assert "BEYOND" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_many_points_are_checked_at_some() -> None:
    np.save("many.npy", np.linspace(-1, 1, 100_000))
    (agreement,) = report_of("run polyval a.npy many.npy")["references"]
    assert agreement["values"] == (1 << 18) // 50
    assert agreement["wrong"] == 0
    assert "some points" in agreement["source"]


@pytest.mark.usefixtures("files")
def test_what_overflows_floats_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("run polyval a.npy huge.npy")
    assert report["references"][0]["left_out"] == 5
    assert report["error_bound"] is None
    out, err = capsys.readouterr()
    assert "none, as sizes overflow" in out
    assert err == ""


BAD_WORDS = {
    "a.npy": "Missing argument 'POINTS' (see `tilewright run polyval --help`)",
    "a.npy x.npy --words int8": "--words must be one of fp32, fp64, complex64, complex, int64, "
    "modular, not 'int8'",
    "ai.npy xi.npy --words modular": "--words modular must come with --modulus P",
    "a.npy x.npy --modulus 1": "--modulus must be an integer in 2..4611686018427387904, not '1'",
    "ai.npy xi.npy --modulus 7 --words int64": "--modulus must come with --words modular, or "
    "without, not with int64",
    "a.npy wide.npy": "wide.npy: must hold numbers in one row or column, not 3 x 4",
    "a.npy x.npy --words int64": "a.npy: must hold integers for words of int64",
    "a.npy c.npy --words fp32": "c.npy: words of fp32 must be real numbers, not complex128",
    "ai.npy far.npy --words int64": "the polynomial of ai.npy at far.npy: words must have 82 bits "
    "to hold the result, not 64",
    "a.npy x.npy -o x.txt": "x.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["run", "polyval", *words.split()], BAD_WORDS[words], files, capsys)
