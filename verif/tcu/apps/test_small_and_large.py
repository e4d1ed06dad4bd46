"""Numbers at the ends of floats: underflow stays within bounds, and overflow is reported without
warnings."""

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
