"""The papers' tables: their shape on a small configuration, their bars on the default one."""

from __future__ import annotations

import json
import os
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tilewright.synth.tables import TABLES, Table

DESIGNS = 5
TINY = {"rows": 1, "cols": 1, "depth": 4}


@pytest.fixture(scope="module")
def tiny() -> Table:
    return TABLES["m3xu-area"]("cmos", **TINY)


def _row(table: Table, label: str) -> list[float | None]:
    return next(list(row.ours) for row in table.rows if row.label == label)


def test_json_of_a_table(tiny: Table) -> None:
    found = json.loads(json.dumps(tiny.to_json()))
    assert list(found) == ["table", "target", "columns", "rows"]
    assert (found["table"], found["target"]) == ("m3xu-area", "cmos")
    assert len(found["columns"]) == DESIGNS
    assert len({row["label"] for row in found["rows"]}) == len(found["rows"]) == 18
    for row in found["rows"]:
        assert list(row) == ["label", "paper", "ours"]
        assert len(row["paper"]) == len(row["ours"]) == DESIGNS
        assert all(figure is None or figure > 0 for figure in row["paper"] + row["ours"])
    assert found["rows"][0]["paper"] == [1, 3.55, 1.37, 1.41, 1.47]


def test_ratios_follow_from_the_absolute_figures(tiny: Table) -> None:
    for window in ("all windows 56", "baseline's window 28"):
        areas = _row(tiny, f"area in transistors, {window}")
        first = areas[0]
        assert first
        assert _row(tiny, f"area, {window}") == [area / first for area in areas if area]
    _, _, real, all_modes, pipelined = (x or 0 for x in _row(tiny, "area, all windows 56"))
    assert 1 < real < all_modes < pipelined


def test_a_table_prints(tiny: Table) -> None:
    console = Console(file=StringIO(), width=140)
    tiny.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(word in text for word in ("m3xu-area", "cmos", "3.550", "wide fp32"))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("ecp5", "table m3xu-area needs target cmos or liberty:FILE, not 'ecp5'"),
        ("x", "`target` must be one of cmos, liberty:FILE, ecp5, ice40, not 'x'"),
    ],
)
def test_a_wrong_target(target: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TABLES["m3xu-area"](target)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cmos", "liberty"])
def test_the_bars_of_the_area_table(target: str) -> None:
    if target == "liberty":
        folder = os.environ.get("TILEWRIGHT_DATA")
        if not folder:
            pytest.skip("TILEWRIGHT_DATA is not set: no real cell library")
        target = f"liberty:{Path(folder) / 'liberty' / 'gscl45nm.lib'}"
    table = TABLES["m3xu-area"](target)
    areas = [x or 0.0 for x in _row(table, "area, all windows 56")]
    cycles = [x or 0.0 for x in _row(table, "cycle time, all windows 56")]
    assert areas[2] <= 1.25
    assert areas[3] <= 1.30
    assert areas[4] <= 1.35
    assert cycles[4] <= 1.02
    if target != "cmos":
        product = next(
            row for row in table.rows if row.label.startswith("area of a dot product unit for each")
        )
        assert (product.ours[0] or 1e9) < (product.paper[0] or 0)
