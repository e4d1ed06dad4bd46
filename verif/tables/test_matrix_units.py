"""The papers' tables: their shape on a small configuration, their bars on the default one."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.hw.spec.host.activity import listening
from tilewright.hw.spec.m3xu import BaselineConfig, M3xuConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.hw.spec.unit import named_object
from tilewright.registry import tables
from tilewright.synth.report import AsicReport, ModuleArea, PathReport
from tilewright.synth.tables import Row, Table, m3xu_area, measure, simd2_area
from tilewright.synth.tables.simd2 import simd2_designs
from tilewright.verif.kit.data import needs_data, real_library

DESIGNS = 5
PRODUCTS = "area of a dot product unit for each multiplier"
TINY: dict[str, Any] = {"rows": 1, "cols": 1, "depth": 4}

MEASURES = {name: work.function for name, work in tables().items()}
SYNTHESISED = {n: made for n, made in MEASURES.items() if made.startswith("tilewright.synth.")}
"""The tables that synthesis measures."""


AREAS = {"m3xu_baseline": 100.0, "m3xu_wide": 300.0, "m3xu": 120.0}


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """A made-up report: the area grows with the window, the path with its square."""
    window = config.alignment_bits
    area = AREAS[unit] * window + 50 * (len(config.modes) == 5)
    parts = (("dot_product_unit", 4, 0.2), ("multiplier", 24, 0.01), ("multiplier_2", 8, 0.03))
    modules = [
        ModuleArea(
            name=f"{unit}_{name}", instances=n, combinational=1.0, sequential=0.0, flip_flops=0,
            total=float(n), whole=area * share,
        )
        for name, n, share in parts
    ]  # fmt: skip
    path = PathReport(
        kind="register to register", start="a", end="b", ns=window**2 / 1000, fo4=window,
        fmax_mhz=1.0, cells=1, opensta_ns=None,
    )  # fmt: skip
    return AsicReport(
        unit=unit, target=target, library="made up", area_unit="transistors", area=area,
        combinational=area, sequential=0.0, buffer_area=0.0, buffers=0, nand2_equivalents=1.0,
        transistors=None, flip_flops=7, cells=9, modules=tuple(modules), path=path, fo4_ns=1.0,
        timing_by="hand",
    )  # fmt: skip


def _check_shape(table: Table) -> None:
    found = json.loads(json.dumps(table.to_json()))
    assert list(found) == ["table", "target", "columns", "rows"]
    assert (found["table"], found["target"]) == ("m3xu-area", "cmos")
    assert len(found["columns"]) == DESIGNS
    assert len({row["label"] for row in found["rows"]}) == len(found["rows"]) == 17
    for row in found["rows"]:
        assert list(row) == ["label", "paper", "ours"]
        assert len(row["paper"]) == len(row["ours"]) == DESIGNS
        assert all(figure is None or figure > 0 for figure in row["paper"] + row["ours"])
    assert found["rows"][0]["paper"] == [1, 3.55, 1.37, 1.41, 1.47]
    assert found["rows"][1]["paper"] == [1, 1.00, 1.21, 1.21, 1.00]


def _row(table: Table, label: str) -> list[float | None]:
    return next(list(row.ours) for row in table.rows if row.label == label)


def test_the_figures_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    seen: list[str] = []
    table = m3xu_area("cmos", progress=seen.append)
    _check_shape(table)
    assert len(seen) == DESIGNS + 2
    m3xu = 120 * 56, 120 * 56 + 50, 120 * 56 + 50
    areas = [5600, 16800, *m3xu]
    assert _row(table, "area in transistors, all windows 56") == areas
    assert _row(table, "area, all windows 56") == [area / 5600 for area in areas]
    assert _row(table, "area, baseline's window 28") == [1, *(area / 2800 for area in areas[1:])]
    assert _row(table, "cycle time, all windows 56") == [1] * DESIGNS
    assert _row(table, "cycle time, baseline's window 28") == [1, 4, 4, 4, 4]
    multipliers = _row(table, "area of a multiplier, all windows 56")
    assert multipliers[0] == pytest.approx(5600 * (24 * 0.01 + 8 * 0.03) / 32)
    products = next(r for r in table.rows if r.label.startswith(PRODUCTS))
    assert products.ours[0] == pytest.approx(5600 * 0.2 * 4 / 32)
    assert list(products.paper) == [None] * DESIGNS
    console = Console(file=StringIO(), width=140)
    table.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(word in text for word in ("m3xu-area", "cmos", "3.550", "baseline", "16,800"))


def test_the_command_says_how_far_it_is_and_not_to_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    told: list[str] = []
    with listening(lambda event, one: told.append(one.detail)):
        assert main(["table", "m3xu-area"]) == 0
    captured = capsys.readouterr()
    assert "16,800" in captured.out
    assert [text for text in told if text.endswith("window 28: 7 of 7")]
    assert not captured.err


def test_designs_for_one_period(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def report(unit: str, config: Any, target: str, **how: Any) -> AsicReport:
        asked.append((how["effort"], how["period"]))
        return _report("m3xu", BaselineConfig(alignment_bits=56), target)

    monkeypatch.setattr(measure, "synthesize", report)
    table = simd2_area("cmos", period=1.25)
    assert asked == 6 * [("speed", 1.25)]
    assert (table.table, [row.label for row in table.rows]) == (
        "simd2-area, for 1.25 ns",
        ["mma", "all nine"],
    )
    monkeypatch.setattr(measure, "synthesize", _report)
    rows = m3xu_area("cmos", period=1.25).rows
    assert rows[0].label == "area, all windows 56, for 1.25 ns"
    assert list(rows[0].paper) == [1, 3.55, None, None, 1.47]
    assert main(["table", "m3xu-area", "--period", "0"]) == 2
    assert "--period must be" in capsys.readouterr().err


@pytest.mark.long
def test_two_small_designs() -> None:
    """Two of the table's designs, as small as they can be."""
    size: dict[str, Any] = {**TINY, "alignment_bits": 56}
    designs: dict[str, tuple[str, Any]] = {
        "baseline": ("m3xu_baseline", BaselineConfig(**size)),
        "real": ("m3xu", M3xuConfig(**size, modes=("fp16", "bf16", "fp32"))),
    }
    reports = measure.measure("m3xu-area", designs, "cmos", measure.quiet)
    baseline, real = reports.values()
    assert 0 < baseline.area < real.area < 3 * baseline.area
    assert baseline.path is not None
    assert real.path is not None


@pytest.mark.long
def test_a_small_table() -> None:
    table = m3xu_area("cmos", **TINY)
    _check_shape(table)
    _, _, real, all_modes, pipelined = (x or 0 for x in _row(table, "area, all windows 56"))
    assert 1 < real < all_modes < pipelined


@pytest.mark.parametrize("name", SYNTHESISED)
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("ecp5", "table {name} needs target cmos or liberty:FILE, not 'ecp5'"),
        (
            "x",
            "`target` must be one of cmos, liberty:FILE, asap7, gscl45nm, sg13g2, sky130hd, ecp5, "
            "ice40, not 'x'",
        ),
    ],
)
def test_a_wrong_target(name: str, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message.format(name=name))}$"):
        named_object(SYNTHESISED[name])(target)


@pytest.mark.long
@pytest.mark.parametrize("target", ["cmos", pytest.param("liberty", marks=needs_data)])
def test_the_bars_of_the_area_table(target: str) -> None:
    if target == "liberty":
        target = f"liberty:{real_library()}"
    table = m3xu_area(target)
    areas = [x or 0.0 for x in _row(table, "area, all windows 56")]
    cycles = [x or 0.0 for x in _row(table, "cycle time, all windows 56")]
    assert areas[2] <= 1.25
    assert areas[3] <= 1.30
    assert areas[4] <= 1.35
    assert cycles[4] <= 1.02
    if target != "cmos":
        product = next(row for row in table.rows if row.label.startswith(PRODUCTS))
        assert (product.ours[0] or 1e9) < (product.paper[0] or 0)


# The semiring unit's area table: figures on made-up reports, bars on real ones.

MEASURED = "liberty:made up"
SUM = sum(10 * 2 ** SEMIRINGS[name].opcode for name in SEMIRINGS if name != "mma")


def _report_simd2(unit: str, config: Simd2Config, target: str, **_: bool) -> AsicReport:
    """A made-up report: every operation has another area and delay, and so has the rest."""
    area = sum(10.0 * 2**row.opcode for row in config.semirings)
    area *= config.tile**3 * config.lane_bits / 1024 * (1 if config.shared else 2)
    area += max(56 - config.window_bits, 0) if config.is_float else 3
    datapath = ModuleArea(
        name=f"{unit}_semiring_unit", instances=16, combinational=1.0, sequential=0.0,
        flip_flops=0, total=16.0, whole=area / 20,
    )  # fmt: skip
    ns = len(config.ops) + config.window_bits / 100
    path = PathReport(
        kind="register to register", start="a", end="b", ns=ns, fo4=ns, fmax_mhz=1.0, cells=1,
        opensta_ns=None,
    )  # fmt: skip
    return AsicReport(
        unit=unit, target=target, library="gscl45nm" if target == MEASURED else "made up",
        area_unit="library units", area=area, combinational=area, sequential=0.0, buffer_area=0.0,
        buffers=0, nand2_equivalents=1.0, transistors=None, flip_flops=7, cells=9,
        modules=(datapath,), path=path, fo4_ns=1.0, timing_by="hand",
    )  # fmt: skip


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "synthesize", _report_simd2)
    monkeypatch.setattr(measure, "target_library", lambda target: target)


def _rows(table: Table) -> dict[str, Row]:
    return {row.label: row for row in table.rows}


@pytest.mark.usefixtures("made_up")
def test_the_shape_of_the_table() -> None:
    seen: list[str] = []
    table = simd2_area(MEASURED, progress=seen.append)
    found = json.loads(json.dumps(table.to_json()))
    assert list(found) == ["table", "target", "columns", "rows"]
    assert (found["table"], found["target"]) == ("simd2-area", MEASURED)
    assert len(found["columns"]) == 9
    assert len(_rows(table)) == len(found["rows"]) == 10 + 8 + 2 + 10 + 6
    for row in found["rows"]:
        assert list(row) == ["label", "paper", "ours"]
        assert len(row["paper"]) == len(row["ours"]) == 9
        assert all(figure is None or figure > 0 for figure in row["paper"] + row["ours"])
        assert any(figure is not None for figure in row["ours"])
    designs = simd2_designs()
    assert seen == [f"{label}: {i} of {len(designs)}" for i, label in enumerate(designs, 1)]
    console = Console(file=StringIO(), width=160)
    table.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(word in text for word in ("simd2-area", "mma + minplus", "3.960", "6,466", "17.010"))


@pytest.mark.usefixtures("made_up")
def test_every_operation_stands_beside_the_papers_figure() -> None:
    rows = _rows(simd2_area(MEASURED))
    together = {name: rows[f"mma + {name}"] for name in SEMIRINGS if name != "mma"}
    for name, row in together.items():
        ratio = 1 + 2 ** SEMIRINGS[name].opcode
        windows = (10 * ratio + 22) / (10 + 22)
        integers = (10 * ratio + 3) / (10 + 3)
        assert row.ours[:2] == [ratio, ratio]
        assert row.ours[2:7] == pytest.approx([2.56 / 1.56, windows, 2.34 / 1.34, integers, 2])
        assert rows[f"{name} alone"].ours[0] == ratio - 1
    papers = {name: row.paper[0] for name, row in together.items()}
    assert papers == {
        "minplus": 1.21, "maxplus": 1.21, "minmul": 1.12, "maxmul": 1.12, "minmax": 1.01,
        "maxmin": 1.01, "orand": 1.04, "addnorm": 1.18,
    }  # fmt: skip
    authors = {name: row.paper[5] for name, row in together.items()}
    assert authors == {
        "minplus": 1.20, "maxplus": 1.19, "minmul": 1.11, "maxmul": None, "minmax": 1.17,
        "maxmin": None, "orand": 1.03, "addnorm": 1.26,
    }  # fmt: skip
    assert rows["all nine"].paper[:6] == [1.69, 1.69, 1, None, None, 1.95]
    assert rows["all nine"].ours[0] == 511
    alone = [rows[f"{name} alone"].paper[0] or 0 for name in together]
    assert rows["sum of the eight alone"].paper[0] == pytest.approx(sum(alone), abs=0.011)
    assert rows["sum of the eight alone"].ours[7] == SUM
    assert rows["separate datapaths, all nine"].ours[0] == 2 * 511


@pytest.mark.usefixtures("made_up")
def test_sizes_are_measured_against_the_mma_of_their_own() -> None:
    rows = _rows(simd2_area(MEASURED))
    double = rows["twice the tile, all nine"]
    assert double.ours[:2] == [8 * 511, 511]
    assert double.paper[:2] == [7.5 * 1.69, pytest.approx(1.69)]
    wide, halves = (rows[f"32 bits (fp32){x}, all nine"] for x in ("", ", 12-bit multipliers"))
    assert (wide.paper[0], halves.paper[0]) == (6.42, None)
    assert wide.paper[1] == pytest.approx(6.42 / 4.04)
    narrow = rows["8 bits (fp8e5m2), mma"]
    assert (narrow.ours[0], narrow.paper[0], narrow.paper[1]) == (0.5, 0.25, 1)
    products = {label: row for label, row in rows.items() if "for each product" in label}
    costs = {label.partition(" for")[0]: row.ours[7] for label, row in products.items()}
    assert costs["mma: unit"] == 10 / 64
    assert costs["mma: datapath"] == 10 / 20 / 4
    assert all(row.paper[7] == 6466 for row in products.values())


@pytest.mark.usefixtures("made_up")
def test_figures_of_one_library_stand_beside_no_other() -> None:
    table = simd2_area("cmos")
    assert all(row.paper[5] is row.paper[7] is None for row in table.rows)
    assert _rows(table)["all nine"].paper[0] == 1.69


def test_every_design_is_one_that_can_be_built() -> None:
    designs = {label: config for label, (_, config) in simd2_designs(2, 3).items()}
    assert len(designs) == len(set(designs.values())) == 10 * 3 + 8 * 2 + 2 + 10
    assert designs["mma, window 34"].window_bits == 34
    assert designs["all nine, int16"].result.name == "int32"
    assert designs["twice the tile, all nine"].tile == 4
    assert {config.pipeline for config in designs.values()} == {3}


def _measured(target: str, *labels: str) -> list[AsicReport]:
    designs: dict[str, tuple[str, Any]] = {label: simd2_designs()[label] for label in labels}
    return list(measure.measure("simd2-area", designs, target, measure.quiet).values())


@pytest.mark.long
@pytest.mark.parametrize("target", ["cmos", pytest.param("liberty", marks=needs_data)])
def test_simd2_bars_of_the_area_table(target: str) -> None:
    if target == "liberty":
        target = f"liberty:{real_library()}"
    mma, whole, double = _measured(target, "mma", "all nine", "twice the tile, mma")
    assert mma.area < whole.area <= 1.50 * mma.area
    assert mma.path
    assert whole.path
    assert whole.path.ns <= 1.02 * mma.path.ns
    assert double.area <= 8 * mma.area
    datapath, count = measure.part_area(mma, "semiring_unit")
    assert count == 16
    if target != "cmos":
        assert datapath / 4 < 6466
