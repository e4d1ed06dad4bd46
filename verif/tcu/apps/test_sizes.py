"""Operands of unusual sizes, and words that are cut into limbs."""

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


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = np.eye(5, k=1) + np.eye(5, k=-1)
    contents = {
        "five": np.arange(25.0).reshape(5, 5) % 7 + 9 * np.eye(5), "path": path,
        "few": np.arange(5.0), "taps": np.ones((3, 3)), "nan": np.full((3, 3), np.nan),
        "wider": np.ones((5, 5)), "empty": np.zeros((0, 3)), "many": np.zeros(20_000),
        "tall": np.zeros((9000, 1)), "flat": np.zeros((1, 9000)),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    Path("seven.txt").write_text("7\n")
    Path("empty.txt").write_text("\n")
    return tmp_path


SMALL = [
    "strassen five.npy five.npy", "strassen five.npy five.npy --method tall",
    "strassen path.npy five.npy --method rectangular", "eliminate five.npy", "closure path.npy",
    "spmul path.npy five.npy",
    "closure path.npy --words minplus", "distances path.npy", "fft few.npy",
    "stencil path.npy --weights taps.npy --steps 1", "bigmul seven.txt seven.txt",
    "polyval few.npy few.npy",
]  # fmt: skip


@pytest.mark.parametrize("words", SMALL)
@pytest.mark.usefixtures("files")
def test_operands_smaller_than_a_block(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words.split(), "--m", "256"]) == 0
    told = "operands are smaller than a block of 16 x 16: padded to one"
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("files")
def test_nothing_is_said_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "eliminate", "five.npy", "--m", "25"]) == 0
    assert main(["run", "polyval", "few.npy", "few.npy", "--m", "4"]) == 0
    assert main(["run", "fft", "few.npy", "--m", "4"]) == 0  # of five: a convolution, said
    out = capsys.readouterr().out
    assert "padded" not in out
    assert "convolution of 16 places" in " ".join(out.split())


MANY = "20000 x 4096 elements are too many; at most 67108864 are allowed"
AN_ELEMENT = "empty.npy: must have at least one element, not 0 x 3"
BAD_WORDS = {
    **{
        f"{words} --words fp64": AN_ELEMENT
        for words in (
            "strassen empty.npy five.npy", "strassen five.npy empty.npy", "eliminate empty.npy",
            "eliminate five.npy --solve empty.npy", "closure empty.npy", "distances empty.npy",
            "fft empty.npy", "stencil empty.npy --weights taps.npy --steps 2",
            "stencil path.npy --weights empty.npy --steps 2", "polyval empty.npy few.npy",
            "polyval few.npy empty.npy",
        )
    },
    "bigmul empty.txt seven.txt": "empty.txt: must hold an integer, decimal, or hexadecimal behind "
    "0x, not ''",
    "polyval few.npy many.npy --m 16777216": f"the powers of many.npy: {MANY}",
    "strassen tall.npy flat.npy --method rectangular": "the product of tall.npy and flat.npy, in "
    "blocks: 9008 x 9008 elements are too many; at most 67108864 are allowed",
    "stencil path.npy --weights wider.npy --steps 2": "wider.npy: must be 3 x 3, not 5 x 5",
    "stencil path.npy --weights nan.npy --steps 2": "nan.npy: must hold finite numbers, not nan or "
    "inf",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["run", *words.split()], BAD_WORDS[words], files, capsys)


# Numbers at the ends of floats: underflow stays within bounds, and overflow is reported without
# warnings.


@pytest.fixture(autouse=True)
def files_small_and_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    square = rng.uniform(1, 2, (9, 9))
    dominant = square + 20 * np.eye(9)
    contents = {
        "tiny": square * 1e-25, "tiny64": square * 1e-162, "least": square * 1e-44,
        "least64": square * 1e-320, "signal": rng.uniform(1, 2, 37) * 1e-320,
        "far": rng.uniform(1, 2, 64) * 1e-162, "dominant": dominant * 1e-44,
        "dominant64": dominant * 1e-310, "large": dominant * 1e306, "side": np.full(9, 1e-310),
        "heat": np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0.0]]), "small": np.full((3, 3), 1e-162),
        "huge": np.full((9, 9), 1e308), "rows": rng.integers(0, 17, (3, 8)),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)


def report_of(words: str) -> dict[str, Any]:
    assert main(["run", *words.split(), "--m", "4", "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize(
    "words",
    [
        "strassen tiny.npy tiny.npy --words fp32",
        "strassen tiny.npy tiny.npy --words complex64 --method tall",
        "strassen tiny64.npy tiny64.npy",
        "strassen tiny64.npy tiny64.npy --method standard",
        "eliminate dominant.npy --words fp32",
        "eliminate dominant64.npy --solve side.npy",
        "eliminate large.npy --solve side.npy",
        "fft signal.npy",
        "fft least64.npy --inverse",
        "fft least.npy --words complex64",
        "fft far.npy",
        "stencil least.npy --weights heat.npy --steps 3 --words fp32",
        "stencil tiny64.npy --weights small.npy --steps 3",
        "spmul tiny.npy tiny.npy --words fp32",
    ],
)
def test_what_underflows_is_within_bounds(words: str) -> None:
    for reference in report_of(words)["references"]:
        assert (reference["wrong"], reference["left_out"]) == (0, 0)
        assert reference["worst"] <= 1


@pytest.mark.parametrize("method", ["strassen", "tall"])
def test_what_overflows_is_told(method: str, capfd: pytest.CaptureFixture[str]) -> None:
    (reference,) = report_of(f"strassen huge.npy huge.npy --method {method}")["references"]
    assert (reference["wrong"], reference["left_out"]) == (0, 81)
    out, err = capfd.readouterr()
    assert "81 not finite" in out
    assert err == ""


def test_limits_of_large_pivots_are_finite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "eliminate", "huge.npy"]) == 2
    assert "the pivot of row 1 (of 0..8) must be above 9.99e+292 in" in capsys.readouterr().err


def test_all_signals_modulo_a_prime_are_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilewright.sim.tcu.transform import dft

    def wrong(unit: Any, x: Any, modulus: Any) -> Any:
        found = dft.dft(unit, x, modulus)
        found[2] = 0
        return found

    monkeypatch.setattr("tilewright.apps.tcu.transforms.dft", wrong)
    assert main(["run", "fft", "rows.npy", "--modulus", "17"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


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
def files_of_limbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def report_of_limbs(words: str) -> dict[str, Any]:
    assert main(["run", *words.split(), "--m", "16", "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize("backend", ["numpy", "simd2", "m3xu"])
@pytest.mark.parametrize("words", RUNS)
@pytest.mark.usefixtures("files_of_limbs")
def test_results_are_the_same(words: str, backend: str) -> None:
    limbs, array = RUNS[words]
    # One vector is no pair of coefficients and points.
    if words.startswith("polyval"):
        np.save("i.npy", np.load("i.npy")[0])
    output = " -o out.npy" if array else ""
    whole = report_of_limbs(words + output)
    expected = np.load("out.npy") if array else None
    cut = report_of_limbs(f"{words} --limbs --backend {backend}{output}")
    if array:
        np.testing.assert_array_equal(np.load("out.npy"), expected)
    assert whole["limbs"] is None
    assert cut["limbs"] == limbs
    assert cut["rows"] == limbs**2 * whole["rows"]
    assert cut["calls"] == limbs * whole["calls"]
    assert [one["wrong"] for one in cut["references"]] == [0] * len(cut["references"])
    assert (cut["measured_cycles"] is None) == (backend == "numpy")


@pytest.mark.usefixtures("files_of_limbs")
def test_costs_are_those_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of_limbs("strassen i.npy i.npy --words int32 --limbs --l 7")
    cost = split(dense.strassen(13, 4), 4, integer(32))
    assert (report["calls"], report["rows"], report["cpu_words"]) == (
        cost.calls,
        cost.rows,
        cost.cpu,
    )
    assert report["unit_time"] == cost.unit_time(4, 7)
    assert "4 limbs a word" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.usefixtures("files_of_limbs")
def test_on_verilog() -> None:
    report = report_of_limbs("strassen i.npy i.npy --words int32 --limbs --backend simd2 --rtl")
    assert report["hardware"]["mismatches"] == 0
    assert report["hardware"]["checked"] > 16 * report["calls"]
    assert report["measured_cycles"] == report["predicted_cycles"]


BAD_WORDS_OF_LIMBS = {
    "strassen i.npy i.npy": "--limbs must come with words of integers or residues, not fp64",
    "closure g.npy --words minplus":
        "--limbs must come with words of integers or residues, not minplus",
    "bigmul a.hex a.hex": "--limbs must be left out: integers are in pieces, of --piece-bits",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD_WORDS_OF_LIMBS)
def test_bad_words_of_limbs(
    words: str, files_of_limbs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.hex").write_text("ff\n")
    check_refused(
        ["run", *words.split(), "--limbs"], BAD_WORDS_OF_LIMBS[words], files_of_limbs, capsys
    )
