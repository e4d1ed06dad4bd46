"""``--limbs``: every command on words that are cut, beside the same on whole words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from tilewright.cli import main
from tilewright.sim.tcu.formulas import dense
from tilewright.sim.tcu.split.split_unit import split
from tilewright.sim.tcu.words import integer
from tilewright.verif.kit.commands import check_refused

RUNS = {
    "strassen i.npy i.npy --words int32": (4, True),
    "strassen i.npy i.npy --method tall --modulus 12289": (2, True),
    "fft signal.npy --modulus 12289": (2, True),
    "fft signal.npy --words int64 --modulus 12289": (8, True),
    "stencil i.npy --weights w.npy --steps 2 --words int64": (8, True),
    "eliminate i.npy --modulus 10007": (2, True),
    "polyval signal.npy i.npy --modulus 251": (1, True),
    "closure g.npy --words int64": (8, False),
    "distances g.npy --words int64": (8, False),
    "spmul few.mtx few.mtx --words int64": (8, False),
}
"""Limbs of a word, and whether the result is a file of NumPy's."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    circle = np.roll(np.eye(9, dtype=int), 1, axis=0)
    contents = {
        "i": rng.integers(-99, 99, (13, 13)), "signal": rng.integers(-99, 99, 24),
        "w": np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]), "g": circle + circle.T,
    }  # fmt: skip
    for name, numbers in contents.items():
        np.save(f"{name}.npy", numbers)
    few = scipy.sparse.random(20, 20, 0.1, random_state=1)
    scipy.io.mmwrite("few.mtx", (few * 100).astype(int))
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main(["run", *words.split(), "--m", "16", "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize("backend", ["numpy", "simd2", "m3xu"])
@pytest.mark.parametrize("words", RUNS)
@pytest.mark.usefixtures("files")
def test_results_are_the_same(words: str, backend: str) -> None:
    limbs, array = RUNS[words]
    # One vector is no pair of coefficients and points.
    if words.startswith("polyval"):
        np.save("i.npy", np.load("i.npy")[0])
    output = " -o out.npy" if array else ""
    whole = report_of(words + output)
    expected = np.load("out.npy") if array else None
    cut = report_of(f"{words} --limbs --backend {backend}{output}")
    if array:
        np.testing.assert_array_equal(np.load("out.npy"), expected)
    assert whole["limbs"] is None
    assert cut["limbs"] == limbs
    assert cut["rows"] == limbs**2 * whole["rows"]
    assert cut["calls"] == limbs * whole["calls"]
    assert [one["wrong"] for one in cut["references"]] == [0] * len(cut["references"])
    assert (cut["measured_cycles"] is None) == (backend == "numpy")


@pytest.mark.usefixtures("files")
def test_costs_are_those_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("strassen i.npy i.npy --words int32 --limbs --l 7")
    cost = split(dense.strassen(13, 4), 4, integer(32))
    assert (report["calls"], report["rows"], report["cpu_words"]) == (
        cost.calls,
        cost.rows,
        cost.cpu,
    )
    assert report["unit_time"] == cost.unit_time(4, 7)
    assert "4 limbs a word" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_on_verilog() -> None:
    report = report_of("strassen i.npy i.npy --words int32 --limbs --backend simd2 --rtl")
    assert report["hardware"]["mismatches"] == 0
    assert report["hardware"]["checked"] > 16 * report["calls"]
    assert report["measured_cycles"] == report["predicted_cycles"]


BAD_WORDS = {
    "strassen i.npy i.npy": "--limbs must come with words of integers or residues, not fp64",
    "closure g.npy --words minplus":
        "--limbs must come with words of integers or residues, not minplus",
    "bigmul a.hex a.hex": "--limbs must be left out: integers are in pieces, of --piece-bits",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.hex").write_text("ff\n")
    check_refused(["run", *words.split(), "--limbs"], BAD_WORDS[words], files, capsys)
