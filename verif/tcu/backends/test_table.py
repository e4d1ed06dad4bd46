"""The table of the model's predictions: its bar, and the cases in which the model breaks."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tilewright.apps.tcu.algorithms import ALGORITHMS
from tilewright.cli import main
from tilewright.synth.tables import Row, Table, Tables
from tilewright.tables.tcu import model
from tilewright.tables.tcu.model import BACKENDS, FAR, tcu_model
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but

RTL = [asked.label for asked in BACKENDS if asked.rtl]
BAR = 3


def check(found: Tables) -> None:
    """Checks that predictions are within 3 % of measured cycles for calls longer than 16
    latencies."""
    *parts, calls = found.parts
    for part, row in zip(parts, calls.rows, strict=True):
        if "RTL" not in row.label:
            continue
        for of in part.rows:
            _, _, latencies, predicted, measured, error = numbers(of)
            assert error == pytest.approx(100 * (predicted / measured - 1))
            assert latencies <= FAR or abs(error) <= BAR, of.label
        assert any(numbers(of)[2] > FAR for of in part.rows)
        assert abs(numbers(row)[-1]) <= BAR
        assert numbers(row)[2] <= 100  # R2 of 0.9999


def numbers(row: Row) -> list[float]:
    return [0.0 if x is None else x for x in row.ours]


def named(part: Table) -> set[str]:
    return {row.label.split(",")[0] for row in part.rows}


@pytest.fixture
def modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All without Verilog, whose cycles are the same."""
    monkeypatch.setattr(model, "BACKENDS", tuple(replace(one, rtl=False) for one in BACKENDS))


@pytest.mark.usefixtures("modelled")
@pytest.mark.parametrize("only", ["simd2", "m3xu", "gta"])
def test_the_bar_by_the_models(only: str) -> None:
    found = tcu_model("cmos", only=only)
    check(found)
    missing = set(ALGORITHMS) - named(found.parts[0])
    # SIMD2 has no complex words, and M3XU has no semirings.
    has = {"simd2": {"squaring"}, "m3xu": {"dft_complex"}, "gta": set[str]()}
    assert missing == {"dft_complex", "squaring"} - has[only]


@pytest.mark.usefixtures("modelled")
def test_where_the_model_breaks() -> None:
    calls = [model._calls(asked) for asked in BACKENDS]
    lines = [f"| {row.label} | {' | '.join(row.cells(row.ours))} |" for row in calls]
    text = page("tcu-results.md").read_text()
    assert [line for line in lines if line not in text] == []
    square, tiled, high, behind = (numbers(row) for row in calls[2:])
    assert 10 < tiled[3] < 20  # a tile or a few: fewer loads than the line has
    assert square[2] == 0
    assert square[3] == square[5] == square[7] == 0
    assert high[3] > 40  # short calls: as if blocks overlapped
    assert high[0] < square[0]
    assert behind[1] == 0  # memory is all that takes time
    assert behind[3] < -10


@pytest.mark.parametrize("label", slow_but([], RTL, []))
def test_the_bar_on_verilog(label: str) -> None:
    check(tcu_model("cmos", only=label))


REFUSED = {
    "--only tpu": "--only must be part of simd2, RTL, s = 4; m3xu, RTL, s = 4; engine, RTL, s = 8; "
    "gta, RTL, s = 8; engine, blocks of 4 s rows, s = 8; engine, HBM, s = 8, not 'tpu'",
    "--target ecp5": "tcu-model is simulated: no --target, not 'ecp5'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "tcu-model", *words.split()]) == 2
    assert re.sub(r"\s+", " ", capsys.readouterr().err) == f"error: {REFUSED[words]} "
