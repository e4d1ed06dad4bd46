"""Commands on backends of hardware: reports, calibration, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    np.save("a.npy", rng.standard_normal((21, 21)))
    np.save("i.npy", rng.integers(-9, 9, (21, 21)))
    np.save("huge.npy", np.full((8, 8), 2**40))


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize(
    ("backend", "cycles"), [("simd2", 343 * 6), ("m3xu", 343 * 7)], ids=["simd2", "m3xu"]
)
def test_a_product(backend: str, cycles: int, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(
        f"run strassen i.npy i.npy --words int64 --m 16 --backend {backend} -o d.npy"
    )
    i = np.load("i.npy")
    np.testing.assert_array_equal(np.load("d.npy"), i @ i)
    assert report["calls"] == 343
    assert report["measured_cycles"] == report["predicted_cycles"] == cycles
    assert report["hardware"]["operations"] == 343
    assert report["rtl"] is False
    assert report["calibration"]["r_squared"] == 1
    assert report["latency"] == report["calibration"]["latency"]
    assert f"{cycles:,} measured, {cycles:,} predicted, +0.00%" in capsys.readouterr().out


def test_a_latency_that_is_given() -> None:
    report = report_of("run strassen a.npy a.npy --words fp32 --m 16 --backend simd2 --l 3")
    assert report["unit_time"] == 343 * (16 + 3)
    assert report["measured_cycles"] == report["predicted_cycles"] == 343 * 6


@pytest.mark.parametrize("words", ["fp32", "fp64"])
def test_sparse_floats_are_predicted_by_the_words_of_their_calls(words: str) -> None:
    """The prediction adds the int64 calls that count entries and the floating-point calls that
    multiply values. Both lines are exact here."""
    rng = np.random.default_rng(2)
    np.save("s.npy", rng.standard_normal((32, 32)) * (rng.random((32, 32)) < 0.3))
    report = report_of(f"run spmul s.npy s.npy --words {words} --m 64 --backend engine")
    by_words = report["by_words"]
    assert [one["words"] for one in by_words] == [words, "int64"]
    assert [one["latency"] for one in by_words] == [{"fp32": 110, "fp64": 73}[words], 146]
    assert min(one["calls"] for one in by_words) > 0
    assert report["measured_cycles"] == report["predicted_cycles"]
    assert report["predicted_cycles"] == sum(one["predicted_cycles"] for one in by_words)
    time = sum(one["rows"] * 8 + one["calls"] * one["latency"] for one in by_words)
    assert report["unit_time"] == time
    charged = report_of(f"run spmul s.npy s.npy --words {words} --m 64 --backend engine --l 9")
    assert [one["latency"] for one in charged["by_words"]] == [9, 9]


@pytest.mark.slow
def test_on_verilog(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("run closure i.npy --words boolean --m 16 --backend simd2 --rtl")
    assert report["rtl"] is True
    assert report["hardware"]["checked"] > report["rows"] * 4
    assert report["hardware"]["mismatches"] == 0
    assert "all equal" in capsys.readouterr().out


@pytest.mark.slow
def test_a_calibration_on_verilog() -> None:
    report = report_of("tcu calibrate simd2 --words boolean --m 16 --rtl")
    assert [call["cycles"] for call in report["calls"]] == [n + 5 for n in 2 ** np.arange(11)]
    assert (report["r_squared"], report["mismatches"]) == (1, 0)
    assert report["checked"] == sum(4 * call["rows"] + 1 for call in report["calls"])


def test_a_calibration(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("tcu calibrate m3xu --set pipeline=2")
    assert (report["word_cycles"], report["latency_cycles"]) == (2 / 256, 3)
    assert report["half_rows"] == 3 * 256 / 2 / 16
    out = capsys.readouterr().out
    assert "0.0078125 cycles a word" in out
    assert "latency is half of the time at n = 24 rows" in out


REFUSED = {
    "run strassen a.npy a.npy --rtl": "--rtl must come with a backend of hardware, not with numpy",
    "run strassen a.npy a.npy --backend simd2 --m 25":
        "--m must be one of 16, 64, 256 with backend simd2, not 25",
    "run strassen a.npy a.npy --backend m3xu":
        "words of backend m3xu must be fp32, complex64, integers (of 25 bits), residues "
        "(of which sums of s products fit), not fp64",
    "run strassen a.npy a.npy --backend simd2 --set tile=4":
        "simd2: `tile` must be left out, as --m and words decide it",
    "run strassen a.npy a.npy --backend simd2 --set pipeline=10":
        "simd2: `pipeline` must be an integer in 1..9, not 10",
    "run strassen a.npy a.npy --backend m3xu --set colour=1":
        "m3xu: unknown parameter 'colour'; `tilewright show m3xu` lists them all",
    "run strassen huge.npy huge.npy --words int64 --backend simd2 --m 16":
        "the product of huge.npy and huge.npy: operands of backend simd2 must be integers of at "
        "most 32 bits, not of 42",
    "tcu calibrate numpy": "backend must be one of simd2, m3xu, engine, engine_m3xu, gta, "
    "not 'numpy'",
    "run strassen i.npy i.npy --words modular --modulus 12289 --backend m3xu":
        "words of backend m3xu must be fp32, complex64, integers (of 25 bits), residues (of which "
        "sums of s products fit), not modular(12289)",
    "run closure i.npy --words boolean --backend gta": "words of backend gta must be fp32, fp64, "
    "integers (of 64 bits), residues (of which sums of s products fit), not boolean",
    "tcu calibrate gta --m 4": "--m must be one of 16, 64, 256, 1024, 4096 with backend gta, not 4",
    "tcu calibrate gta --set formats=int8":
        "gta: `formats` must be left out, as --m and words decide it",
    "tcu calibrate gta --set lanes=3": "gta: `lanes` must be a power of two in 1..64, not 3",
    "tcu calibrate gta --set float_adders=0":
        "gta: `float_adders` must not be 0 with formats of floats alone",
    "tcu calibrate gta --rtl --memory hbm": "memory must be flat with the rtl backend, not 'hbm'",
    "run strassen huge.npy huge.npy --words int64 --backend gta --m 16":
        "the product of huge.npy and huge.npy: sums of backend gta must be integers of at most 64 "
        "bits, not of 84",
    "tcu calibrate m3xu --words minplus":
        "words of backend m3xu must be fp32, complex64, integers (of 25 bits), residues "
        "(of which sums of s products fit), not minplus",
    "tcu calibrate m3xu --words fp8": "--words must be one of fp32, fp64, complex64, int8, int16, "
    "int32, int64, boolean, minplus, not 'fp8'",
    "tcu calibrate simd2 --memory hbm": "--memory must come with a backend that has one (engine, "
    "engine_m3xu, gta), not with simd2",
    "tcu calibrate engine --memory tape":
        "memory must be one of hbm, hbm32, hbm-refresh, flat, not 'tape'",
    "tcu calibrate engine --rtl --memory hbm":
        "memory must be flat with the rtl backend, not 'hbm'",
    "tcu calibrate engine --m 25":
        "--m must be one of 16, 64, 256, 1024, 4096 with backend engine, not 25",
    "tcu calibrate engine --set block_rows=3":
        "engine_simd2: `block_rows` must be a power of two in 0..64, not 3",
    "tcu calibrate m3xu --m 17": "--m must be a square, as 16 and 25 are, not 17",
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"error: {REFUSED[words]}\n"


def test_on_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("run strassen i.npy i.npy --words int64 --m 64 --backend engine -o d.npy")
    i = np.load("i.npy")
    np.testing.assert_array_equal(np.load("d.npy"), i @ i)
    told = report["hardware"]
    assert report["measured_cycles"] == told["cycles"] == report["predicted_cycles"]
    assert told["operations"] == 49 * 2**3  # of 4 x 4 x 4, eight a call of 8 x 8 x 8
    # Words of A and B are of 32 bits, those of D of 64.
    assert told["bytes_read"] == 49 * 2 * 64 * 4
    assert told["bytes_written"] == 49 * 64 * 8
    assert f"{told['bytes_read']:,} bytes read" in capsys.readouterr().out


def test_the_engine_lies_on_a_line_if_its_block_is_a_square() -> None:
    report = report_of("tcu calibrate engine --m 256")
    assert report["r_squared"] == 1
    assert (report["word_cycles"], report["latency_cycles"]) == (1, 262)
    higher = report_of("tcu calibrate engine --m 256 --set block_rows=16")
    assert 0.9998 < higher["r_squared"] < 0.9999
    assert higher["word_cycles"] < 0.63
    assert higher["calls"][0]["cycles"] == report["calls"][0]["cycles"] == 518
    behind = report_of("tcu calibrate engine --m 256 --memory hbm")
    assert behind["latency_cycles"] == 0
    assert 0.9999 < behind["r_squared"] < 1


def test_complex_words_on_the_engine() -> None:
    np.save("c.npy", np.load("a.npy") + 1j * np.load("i.npy"))
    report = report_of("run strassen c.npy c.npy --words complex64 --m 16 --backend engine_m3xu")
    assert report["measured_cycles"] == report["predicted_cycles"]


@pytest.mark.long
def test_the_engine_in_verilog() -> None:
    np.save("small.npy", np.load("i.npy")[:9, :9])
    report = report_of(
        "run strassen small.npy small.npy --words int64 --m 64 --backend engine --rtl"
    )
    assert report["calls"] == 7
    assert report["hardware"]["mismatches"] == 0
    assert report["hardware"]["checked"] == 7 * (64 + 6)
    assert report["measured_cycles"] == report["predicted_cycles"]


@pytest.mark.long
@pytest.mark.parametrize(
    "algorithm",
    ["strassen few.npy few.npy --method tall", "spmul few.npy few.npy", "closure few.npy",
     "stencil few.npy --weights taps.npy --steps 2"],
    ids=lambda words: words.split()[0],
)  # fmt: skip
def test_algorithms_on_the_engine_in_verilog(algorithm: str) -> None:
    """The same build; tall calls are of 13 rows, that no block divides."""
    rng = np.random.default_rng(4)
    np.save("few.npy", (rng.random((13, 13)) < 0.2).astype(int))
    np.save("taps.npy", np.eye(3, dtype=int))
    report = report_of(f"run {algorithm} --words int64 --m 64 --backend engine --rtl")
    assert report["calls"] > 0
    assert report["hardware"]["mismatches"] == 0
    assert report["hardware"]["checked"] >= report["rows"] * 8
    assert [one["wrong"] for one in report["references"]] == [0]
