"""``tilewright run stencil``: results, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu.formulas import stencils as costs
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.stencils.sweeps import swept


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    heat = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]])
    contents = {
        "g": rng.standard_normal((12, 12)), "w": heat / 8, "gi": rng.integers(-9, 9, (12, 12)),
        "wi": heat - 8 * np.eye(3, dtype=int)[::-1], "gc": rng.random((5, 9)) * (1 + 2j),
        "wide": np.ones((3, 4)), "flat": np.ones(9), "large": np.full((4, 4), 2**45),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize("boundary", ["periodic", "open"])
@pytest.mark.parametrize(
    ("grid", "weights", "words", "dtype"),
    [("g", "w", "", "float64"), ("g", "w", "fp32", "float32"), ("gi", "wi", "int64", "int64"),
     ("gc", "w", "", "complex128"), ("g", "w", "complex64", "complex64")],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_sweeps(grid: str, weights: str, words: str, dtype: str, boundary: str) -> None:
    report = report_of(
        f"run stencil {grid}.npy --weights {weights}.npy --steps 5 --boundary {boundary} --m 16 "
        f"--l 9 -o out.npy" + (f" --words {words}" if words else "")
    )
    cells, taps, out = (np.load(f"{name}.npy") for name in (grid, weights, "out"))
    assert out.dtype == dtype
    expected = swept(cells, taps, 5, boundary)
    if words == "int64":
        assert out.tolist() == expected.tolist()
        assert report["cpu_words"] == costs.stencil_exact(12, 5, len(report["primes"]), 4).cpu
    else:
        near = 1e-5 if dtype in ("float32", "complex64") else 1e-13
        np.testing.assert_allclose(out, expected.astype(complex), atol=near)
    if not words and grid == "g":
        cost = costs.stencil(12, 5, 4)
        assert (report["calls"], report["rows"], report["cpu_words"]) == (
            cost.calls, cost.rows, cost.cpu,
        )  # fmt: skip
        assert report["unit_time"] == cost.unit_time(4, 9)
    (agreement,) = report["references"]
    assert (agreement["wrong"], agreement["left_out"]) == (0, 0)
    assert (report["steps"], report["boundary"], report["length"]) == (5, boundary, 16)


@pytest.mark.parametrize("backend", slow_but(["m3xu"], ["m3xu", "engine_m3xu"]))
@pytest.mark.usefixtures("files")
def test_integers_on_hardware_that_holds_fewer_bits(backend: str) -> None:
    """Words are of 64 bits; primes are of what is left of 25."""
    report = report_of(
        f"run stencil gi.npy --weights wi.npy --steps 3 --words int64 --backend {backend} --m 16 "
        "-o out.npy"
    )
    grid, weights = np.load("gi.npy"), np.load("wi.npy")
    assert np.load("out.npy").tolist() == swept(grid, weights, 3, "periodic").tolist()
    assert 2000 < max(report["primes"]) <= 2048
    assert report["calls"] == costs.stencil_exact(12, 3, len(report["primes"]), 4).calls


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unswept(unit: Any, grid: Any, *others: Any) -> Any:
        return grid

    monkeypatch.setattr("tilewright.apps.tcu.stencils.stencil", unswept)
    assert main(["run", "stencil", "g.npy", "--weights", "w.npy", "--steps", "2"]) == 1
    assert "144 BEYOND" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_what_overflows_floats_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("huge.npy", np.full((3, 3), 1e30))
    report = report_of("run stencil g.npy --weights huge.npy --steps 11")
    assert report["references"][0]["left_out"] == 288
    assert capsys.readouterr().err == ""


G = "run stencil g.npy --weights"
BAD_WORDS = {
    f"{G} w.npy": "Missing option '--steps' (see `tilewright run stencil --help`)",
    f"{G} w.npy --steps 0": "--steps must be an integer in 1..1000000, not '0'",
    f"{G} w.npy --steps 2 --boundary fixed": "--boundary must be periodic or open, not 'fixed': "
    "sweeps with other borders are not convolutions",
    f"{G} w.npy --steps 2 --words int8": "--words must be one of fp32, fp64, complex64, complex, "
    "int64, not 'int8'",
    f"{G} w.npy --steps 2 --words int64": "g.npy: must hold integers for words of int64",
    f"{G} wide.npy --steps 2": "wide.npy: must be 3 x 3, not 3 x 4",
    f"{G} flat.npy --steps 2": "flat.npy: must hold a matrix (2 dimensions), not 1 dimension",
    f"{G} w.npy --steps 2 --m 1": "--m must be 4 or more for transforms, not 1",
    f"{G} w.npy --steps 99999": "the blocks of 99,999 sweeps over g.npy: 1 x 300000 x 300000 "
    "elements are too many; at most 67108864 are allowed",
    "run stencil large.npy --weights wi.npy --steps 9 --words int64": "9 sweeps over large.npy: "
    "words must have 82 bits to hold the result, not 64",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(words.split(), BAD_WORDS[words], files, capsys)
