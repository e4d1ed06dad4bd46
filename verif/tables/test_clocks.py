"""The table of clocks: what it measures, what it keeps, and what it tells as missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.axi.burst_reader import BurstSplitter
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.registry import entries
from tilewright.synth.base.errors import ToolError
from tilewright.synth.report import AsicReport, PathReport, PathSegment
from tilewright.synth.tables import clocks as measuring
from tilewright.synth.targets import KNOWN
from tilewright.tables.clocks import LIBRARIES, Clocks, clocks
from tilewright.verif.kit.data import empty_cache, needs_data, real_libraries
from tilewright.verif.kit.plots import panels, points
from tilewright.verif.tables.made_up import BIT_AREA, made_up

UNIT = "c2sr_converter"
"""The unit in whose place a small component is measured."""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test, and no libraries besides `cmos`."""
    empty_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.delenv("TILEWRIGHT_LIBERTY", raising=False)


MEMORY = 4096 * BIT_AREA


def splitter(unit: Any, config: Any) -> Emitted:
    """A component of one module, as if it were the Verilog of a unit."""
    component = BurstSplitter(addr_bits=12, data_bits=32, count_bits=6, burst_beats=4)
    return emit_component(component, name=unit.name, sidecar_extras={"config": config.resolved()})


@pytest.fixture
def _small_verilog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.hw.emit.unit.emit", splitter)


def _path(unit: str, ns: float) -> PathReport:
    places = (("a", "half", 0.3), ("b", "rest", 0.25), ("c", "half", 0.35), ("", "top", 0.1))
    segments = [
        PathSegment(
            instance=instance, module=f"{unit}_{module}", signal="", source=f"hw/{instance}.py:1",
            cells=1, fanout=1, arrival=ns, increment=share * ns,
        )
        for instance, module, share in places
    ]  # fmt: skip
    return PathReport(
        kind="register to register", start="a.held", end="c.sum", ns=ns, fo4=40 * ns,
        fmax_mhz=1000 / ns, cells=4, opensta_ns=None, segments=tuple(segments), access_ns=0.1 * ns,
    )  # fmt: skip


def _empty(unit: Any, config: Any) -> Emitted:
    return Emitted("", {"module": unit.name, "config": config.resolved()})


class MadeUp:
    """Replaces synthesis: records the requests, and stops at ``stop_at``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.stop_at: tuple[str, str, str] | None = None
        self.error: BaseException = KeyboardInterrupt()
        self.path = True

    def __call__(self, text: str, top: str, target: str, **options: Any) -> AsicReport:
        place = top, target, options["effort"]
        if place == self.stop_at:
            raise self.error
        self.asked.append(place)
        fast = options["effort"] == "speed"
        report = self._report(top, target, options["config"])
        path = _path(top, 0.5 if fast else 0.8) if self.path else None
        return replace(report, area=700.0 if fast else 500.0, path=path)

    def _report(self, unit: str, target: str, config: Any) -> AsicReport:
        return made_up(unit, target, {}, area=450.0, memory_bits=4096, buffer_area=0, config=config)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    """Made-up synthesis of empty Verilog."""
    synthesis = MadeUp()
    monkeypatch.setattr("tilewright.hw.emit.unit.emit", _empty)
    monkeypatch.setattr(measuring, "synthesize_verilog", synthesis)
    return synthesis


def _printed(table: Clocks) -> str:
    file = StringIO()
    table.print(Console(file=file, width=150))
    return file.getvalue()


@pytest.mark.quick
def test_the_figures_of_all_units(made: MadeUp) -> None:
    """The table has all units in the one library that is installed; the others are missing."""
    table = clocks("cmos")
    (part,) = table.parts
    assert [row.label for row in part.rows] == list(entries())
    assert {tuple(row.ours) for row in part.rows} == {
        (4096, MEMORY, 500, 0.8, 32, 700, 0.5, 20, 2000)
    }
    assert len(part.columns) == 9
    assert part.target == "cmos, default configurations"
    assert list(table.missing) == [name for name in LIBRARIES if name != "cmos"]
    assert all("TILEWRIGHT_LIBERTY" in why for why in table.missing.values())
    assert made.asked == [(unit, "cmos", effort) for unit in entries()
                          for effort in ("area", "speed")]  # fmt: skip
    found = json.loads(json.dumps(table.to_json()))
    assert list(found) == ["table", "parts", "fo4_ns", "results", "missing"]
    (axes,) = panels(table)
    assert points(axes, "cmos") == [(20, place) for place in range(len(entries()))]
    assert found["missing"][0]["what"] == "gscl45nm"
    assert found["results"][1]["limit"] == {
        "kind": "register to register", "start": "a.held", "end": "c.sum",
        "module": f"{next(iter(entries()))}_half", "share": pytest.approx(0.65),
        "source": "hw/c.py:1", "memory": pytest.approx(0.1),
    }  # fmt: skip
    text = _printed(table)
    assert "c2sr_converter_half, 65 %; memories 10 %" in text
    assert "missing: asap7: target asap7 needs its Liberty files" in text


@pytest.mark.quick
def test_it_goes_on_where_it_was_interrupted(made: MadeUp) -> None:
    units = ["m3xu", "simd2"]
    made.stop_at = "simd2", "cmos", "area"
    with pytest.raises(KeyboardInterrupt):
        clocks("cmos", unit=units)
    done = [("m3xu", "cmos", "area"), ("m3xu", "cmos", "speed")]
    assert made.asked == done
    kept = clocks("cmos", only="cmos", unit=units, kept=True)
    assert kept.missing == {
        "simd2 in cmos for area": "not measured yet", "simd2 in cmos for speed": "not measured yet",
    }  # fmt: skip
    assert list(kept.parts[0].rows[1].ours) == [None] * 9
    assert made.asked == done
    made.stop_at = None
    whole = clocks("cmos", unit=units)
    assert made.asked == [*done, ("simd2", "cmos", "area"), ("simd2", "cmos", "speed")]
    assert whole.parts[0].rows[0] == kept.parts[0].rows[0]
    clocks("cmos", unit=units, small=True)
    assert len(made.asked) == 8


@pytest.mark.quick
def test_a_unit_that_a_tool_fails_for_is_missing(made: MadeUp) -> None:
    made.stop_at, made.error = ("m3xu", "cmos", "speed"), ToolError("yosys: out of words")
    table = clocks("cmos", only="cmos", unit=["m3xu", "simd2"])
    assert table.missing == {"m3xu in cmos for speed": "yosys: out of words"}
    assert list(table.parts[0].rows[0].ours) == [4096, MEMORY, 500, 0.8, 32, *[None] * 4]
    assert "│ m3xu  │ cmos       │" in _printed(table)


@pytest.mark.quick
def test_a_design_without_a_path(made: MadeUp) -> None:
    made.path = False
    table = clocks("cmos", only="cmos", unit=["gta"])
    assert list(table.parts[0].rows[0].ours) == [4096, MEMORY, 500, None, None, 700, *[None] * 3]
    text = " ".join(re.sub("[│\n]", " ", _printed(table)).split())
    assert "none no path: no register, input or output has a path to another" in text
    assert table.to_json()["results"][0]["limit"] is None


@pytest.mark.quick
@pytest.mark.usefixtures("made")
def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "found.json")
    words = ["table", "clocks", "--unit", "m3xu", "--unit", "gta", "--only", "cmos"]
    assert main([*words, "--only", "asap7", "--small", "--json", file]) == 0
    found = json.loads(Path(file).read_text())
    assert [row["label"] for row in found["parts"][0]["rows"]] == ["m3xu", "gta"]
    assert [one["what"] for one in found["missing"]] == ["asap7"]
    capsys.readouterr()
    assert main([*words, "--kept", "--only", "asap7", "--liberty-path", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"liberty path {tmp_path} must have asap7, asap7.lib or asap7.lib.gz" in said
    assert main([*words, "--small", "--kept"]) == 0
    assert "not measured yet" not in capsys.readouterr().out
    assert main([*words, "--kept"]) == 0
    assert capsys.readouterr().out.count("not measured yet") == 4
    assert main(["table", "m3xu-area", "--small"]) == 2
    assert "m3xu-area takes no --small" in capsys.readouterr().err


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"only": "cmos,nangate"},
         "--only must be one of cmos, gscl45nm, sg13g2, sky130hd, asap7, not 'nangate'"),
        ({"unit": ["m4xu"]}, "unknown unit 'm4xu'; did you mean 'm3xu'?"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        clocks("cmos", **given)


@pytest.mark.quick
def test_a_target_is_refused() -> None:
    with pytest.raises(UserError, match=r"^clocks takes its libraries by --only: no --target"):
        clocks("asap7")


@pytest.mark.slow
@pytest.mark.parametrize(
    "libraries", [["cmos"], pytest.param(["cmos", *KNOWN], marks=needs_data)], ids=len
)
@pytest.mark.usefixtures("_small_verilog")
def test_a_component(libraries: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured, and then kept; in all five libraries where there are any."""
    if len(libraries) > 1:
        monkeypatch.setenv("TILEWRIGHT_LIBERTY", str(real_libraries()))
    table = clocks("cmos", only=",".join(libraries), unit=[UNIT])
    assert not table.missing
    assert len(table.parts) == len(libraries) + (len(libraries) > 1)
    for library in libraries:
        area, speed = (table.found[UNIT, library, effort] for effort in ("area", "speed"))
        assert 0 < (speed.ns or 0) < (area.ns or 0)
        assert 0 < (area.area or 0) <= (speed.area or 0)
        assert area.fo4 == pytest.approx((area.ns or 0) / table.fo4[library])
        assert 5 < (area.fo4 or 0) < 100
        for one in (area, speed):
            assert one.limit
            assert (one.limit.module, one.limit.kind) == (UNIT, "register to register")
            assert 0.5 < one.limit.share <= 1
            assert re.fullmatch(r"hw/axi/burst_reader\.py:\d+", one.limit.source)
    kept = clocks("cmos", only=",".join(libraries), unit=[UNIT], kept=True)
    assert kept.found == table.found


@pytest.mark.long
@pytest.mark.parametrize("unit", entries())
def test_every_unit(unit: str) -> None:
    """The small configuration of each unit has a path in `cmos`, and a faster one for speed."""
    table = clocks("cmos", only="cmos", unit=[unit], small=True)
    assert not table.missing
    area, speed = (table.found[unit, "cmos", effort] for effort in ("area", "speed"))
    assert 0 < (speed.ns or 0) <= (area.ns or 0)
    assert speed.limit
    assert speed.limit.module.startswith(unit)
