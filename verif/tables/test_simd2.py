"""The semiring unit's area table: figures on made-up reports, bars on real ones."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.synth.report import AsicReport, ModuleArea, PathReport
from tilewright.synth.tables import Row, Table, measure, simd2_area
from tilewright.synth.tables.simd2 import simd2_designs
from tilewright.verif.kit.data import needs_data, real_library

MEASURED = "liberty:made up"
SUM = sum(10 * 2 ** SEMIRINGS[name].opcode for name in SEMIRINGS if name != "mma")


def _report(unit: str, config: Simd2Config, target: str, **_: bool) -> AsicReport:
    """A made-up report: every operation has an area and a delay of its own, and so has all else."""
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
    monkeypatch.setattr(measure, "synthesize", _report)
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
def test_the_bars_of_the_area_table(target: str) -> None:
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
