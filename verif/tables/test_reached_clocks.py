"""Clocks that a record holds: the nearest configuration, times at them, and reports put into it."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from tilewright import clocks
from tilewright.clocks import (
    clock_rows,
    draw_periods,
    duration,
    merged,
    reached_clocks,
    times,
)
from tilewright.errors import UserError
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
from tilewright.verif.kit.plots import points


def row(unit: str, library: str, ns: float, **config: Any) -> dict[str, Any]:
    """A row of a record."""
    return {
        "unit": unit, "config": config, "library": library, "ns": ns, "fo4": 40 * ns,
        "area": 100.0, "memory_bits": 0, "verilog": "0123456789abcdef",
    }  # fmt: skip


ROWS = [
    row("matraptor", "asap7", 2.0, lanes=8, channels=8),
    row("matraptor", "asap7", 1.0, lanes=2, channels=2),
    row("matraptor", "gscl45nm", 4.0, lanes=2, channels=2),
    row("sida", "asap7", 0.5, lanes=8, channels=8),
]


@pytest.fixture
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_record", lambda: ROWS)


def test_the_nearest_configuration() -> None:
    """The nearest configuration is one of the same unit with the fewest other values, which are
    named."""
    found = reached_clocks("matraptor", {"lanes": 8, "channels": 2}, rows=ROWS)
    assert [(one.library, one.gigahertz) for one in found] == [("asap7", 0.5), ("gscl45nm", 0.25)]
    assert [one.differs for one in found] == [{"channels": 8}, {"lanes": 2}]
    (same,) = reached_clocks("matraptor", {"lanes": 2, "channels": 2}, ("asap7",), ROWS)
    assert (same.gigahertz, same.differs) == (1.0, {})
    assert not reached_clocks("gta", {"lanes": 2}, rows=ROWS)


@pytest.mark.usefixtures("_recorded")
def test_times_in_a_report() -> None:
    """The reached clocks first, then the simulated one, named as the paper's if it is."""
    config = {"lanes": 2, "channels": 2}
    said = dict(clock_rows("matraptor", config, 412_600, 2.0, "hbm"))
    assert said == {
        "time": "412.6 us at 1 GHz, asap7; 1.65 ms at 250 MHz, gscl45nm",
        "clocks": "of synthesis for speed, without wires; this configuration (`table clocks`)",
        "assumed clock": "206.3 us at the paper's 2 GHz; cycles are those on hbm at this clock",
    }
    said = dict(clock_rows("matraptor", config | {"lanes": 4}, 1000, 0.5, "flat"))
    assert "the nearest measured: lanes=2" in said["clocks"]
    assert said["assumed clock"] == "2 us at 500 MHz"
    assert "not known" in dict(clock_rows("gta", {}, 1000, 1.0, "flat"))["time"]
    found = times("matraptor", config, 412_600)
    assert [round(one["microseconds"], 3) for one in found] == [412.6, 1650.4]
    assert [one["microseconds"] for one in times("matraptor", config, None)] == [None, None]
    assert clocks.measured("matraptor", config) == (
        "matraptor reaches 1 GHz in asap7, 250 MHz in gscl45nm."
    )
    assert [duration(10.0**n) for n in (0, 3, 6, 9)] == ["1 ns", "1 us", "1 ms", "1 s"]


def test_a_report_is_put_into_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results for speed take the place of those of the same configuration."""
    new = row("matraptor", "asap7", 0.8, lanes=8, channels=8) | {"effort": "speed", "limit": None}
    report = {"results": [new, new | {"effort": "area", "ns": 9.0}, new | {"ns": None}]}
    found = merged(ROWS, report)
    assert len(found) == len(ROWS)
    assert [one["ns"] for one in found if one["config"] == new["config"]] == [0.8, 0.5]
    assert set(found[0]) == set(ROWS[0])
    monkeypatch.setattr(clocks, "RECORD", tmp_path / "clocks.json")
    monkeypatch.setattr(clocks, "_record", lambda: ROWS)
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert clocks.main([str(tmp_path / "report.json")]) == 0
    assert json.loads((tmp_path / "clocks.json").read_text()) == found
    with pytest.raises(UserError, match="must be what `table clocks --json` writes"):
        merged(ROWS, {"results": [{"unit": "matraptor"}]})


def test_the_plot() -> None:
    """The plot has a mark for each library, and the goal."""
    figure = Figure()
    draw_periods(figure, [("a", "cmos", 40.0), ("b", "asap7", 50.0), ("b", "cmos", 60.0)])
    (axes,) = figure.get_axes()
    assert points(axes, "cmos") == [(40, 0), (60, 1)]
    assert points(axes, "asap7") == [(50, 1)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.texts] == ["goal: 44 FO4"]


def test_the_record_as_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.svg"
    before = clocks.RECORD.read_bytes()
    assert clocks.main(["--plot", str(file)]) == 0
    text = file.read_text()
    assert {"m3xu, small", "cmos", "goal: 44 FO4"} <= set(re.findall(r">([^<>]+)</text>", text))
    assert clocks.RECORD.read_bytes() == before
    assert clocks.main(["--plot", "a.gif"]) == 2
    assert capsys.readouterr().err == "error: a.gif: must end in .svg, .png, .pdf\n"
    with pytest.raises(SystemExit):
        clocks.main([])


def test_the_record_is_sound() -> None:
    """Every row is of a configuration of today, of a unit of the catalogue."""
    known = entries()
    for one in clocks._record():
        config = known[one["unit"]].unit.config(**one["config"])
        assert config.resolved() == one["config"]
        assert one["ns"] > 0


@pytest.mark.long
def test_the_record_is_of_the_hardware_of_today() -> None:
    """The Verilog that was measured is the one that is written today."""
    known, old = entries(), []
    for one in {(x["unit"], x["verilog"]): x for x in clocks._record()}.values():
        unit = known[one["unit"]].unit
        verilog = emit(unit, unit.config(**one["config"])).verilog
        if sha256(verilog.encode()).hexdigest()[:16] != one["verilog"]:
            old.append(f"{one['unit']} {one['config']}")
    assert not old, f"measure again with `tilewright table clocks`: {old}"
