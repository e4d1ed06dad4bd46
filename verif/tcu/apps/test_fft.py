"""``tilewright run fft``: results, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.sim.tcu.formulas import transform as costs
from tilewright.verif.kit.commands import check_refused

pytestmark = pytest.mark.quick


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 48))
    contents = {
        "a": a, "c": a + 1j * b, "rows": np.stack([a, b]), "column": a[:, None],
        "i": rng.integers(-99, 99, 48), "prime": a[:37], "cube": np.ones((2, 2, 2)),
        "long": np.full(4, 1e300), "fifteen": np.arange(15),
    }  # fmt: skip
    for name, signal in contents.items():
        np.save(f"{name}.npy", signal)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize(
    ("file", "more", "dtype"),
    [("a", "", "complex128"), ("c", "", "complex128"), ("a", "--words fp32", "complex64"),
     ("c", "--words fp64 --inverse", "complex128"), ("rows", "--words complex64", "complex64"),
     ("column", "--weak", "complex128"), ("prime", "", "complex128")],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_signals(file: str, more: str, dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(f"run fft {file}.npy --m 16 --l 10 -o out.npy {more}")
    x, out = np.load(f"{file}.npy"), np.load("out.npy")
    x = x[:, 0] if file == "column" else x
    true = np.fft.ifft(x) if "--inverse" in more else np.fft.fft(x)
    assert (out.dtype, out.shape) == (dtype, x.shape)
    np.testing.assert_allclose(out, true, atol=1e-4 if dtype == "complex64" else 1e-12)
    (agreement,) = report["references"]
    assert (agreement["wrong"], agreement["values"]) == (0, 2 * x.size)
    if x.ndim == 1 and report["words"] == "fp64":
        cost = costs.dft(x.size, 4, "--weak" in more)
        assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
        assert report["cpu_words"] == cost.cpu
        assert report["unit_time"] == cost.unit_time(4, 10)
    assert report["factors"] == (None if file == "prime" else [4, 4, 3])
    said = " ".join(capsys.readouterr().out.split())
    # 81 is the least from 2 * 37 - 1 that has no prime factor above 4.
    assert ("81 places with a chirp" if file == "prime" else "4 x 4 x 3") in said


@pytest.mark.parametrize(
    "more", ["", "--words int64", "--words modular", "--inverse", "--inverse --words int64"]
)
@pytest.mark.usefixtures("files")
def test_modulo_a_prime(more: str) -> None:
    report = report_of(f"run fft i.npy --modulus 12289 --m 16 -o out.npy {more}")
    assert report["words"] == ("int64" if "int64" in more else "modular(12289)")
    (agreement,) = report["references"]
    assert (agreement["wrong"], agreement["values"], agreement["criterion"]) == (0, 16, "exact")
    back = "" if "--inverse" in more else "--inverse"
    report_of(f"run fft out.npy --modulus 12289 --m 16 -o back.npy {back}")
    np.testing.assert_array_equal(np.load("back.npy"), np.load("i.npy") % 12289)


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(unit: Any, x: Any, modulus: Any) -> Any:
        return np.fft.fft(x) + 1e-9 if modulus is None else x

    monkeypatch.setattr("tilewright.apps.tcu.transforms.dft", wrong)
    assert main(["run", "fft", "a.npy"]) == 1
    assert "48 BEYOND it" in capsys.readouterr().out
    assert main(["run", "fft", "i.npy", "--modulus", "97", "--words", "int64"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_what_is_not_finite_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("inf.npy", np.array([1, np.inf, 2, np.nan]))
    report = report_of("run fft inf.npy --words fp32")
    assert report["references"][0]["left_out"] == 8
    said = "warning: inf.npy: 2 of 4 values are infinite or NaN\n"
    assert capsys.readouterr().err == said


BAD_WORDS = {
    "run fft a.npy --words int8": "--words must be one of fp32, fp64, complex64, complex, int64, "
    "modular, not 'int8'",
    "run fft a.npy --words int64": "--words int64 must come with --modulus P, a prime",
    "run fft a.npy --words modular": "--words modular must come with --modulus P, a prime",
    "run fft i.npy --words modular --modulus 12289 --backend m3xu": "words of backend m3xu must be "
    "fp32, complex64, integers (of 25 bits), residues (of which sums of s products fit), not "
    "modular(12289)",
    "run fft a.npy --words fp32 --modulus 7": "--modulus must come with --words modular or "
    "int64, or without, not with fp32",
    "run fft a.npy --modulus x": "--modulus must be an integer in 2..4611686018427387904, not 'x'",
    "run fft a.npy --modulus 97": "a.npy: must hold integers for words of modular(97)",
    "run fft i.npy --modulus 15": "the transform of i.npy: `modulus` must be a prime, not 15",
    "run fft i.npy --modulus 13": "the transform of i.npy: lengths of residues modulo 13 must "
    "divide 12, not 48",
    "run fft i.npy --words int64 --modulus 4294967291": "the transform of i.npy: `modulus` must "
    "be in 2..759250125 for int64 and a unit of side 16, not 4294967291",
    "run fft fifteen.npy --m 16 --modulus 31": "the transform of fifteen.npy: roots must be of an "
    "order of 29 or more, with factors of at most 4, which does not divide 30",
    "run fft cube.npy": "cube.npy: must hold a signal, or signals as rows, not 3 dimensions",
    "run fft long.npy --words fp32": "long.npy: words of fp32 do not hold the largest of the "
    "numbers given",
    "run fft a.npy --m 1": "--m must be 4 or more for transforms, not 1",
    "run fft a.npy -o x.txt": "x.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(words.split(), BAD_WORDS[words], files, capsys)
