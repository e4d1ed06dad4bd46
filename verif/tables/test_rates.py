"""The table of rates on the RTL: its composition and its bars."""

from __future__ import annotations

import json
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.hw.spec.jobs.matraptor import COUNTERS
from tilewright.sim.rtl import toolchain
from tilewright.sim.rtl.build import BuildError
from tilewright.synth.tables import Table
from tilewright.tables import converter_rate, cycle_deviation, element_rate, lane_rate
from tilewright.tables.cycle_deviation import Deviation
from tilewright.tables.matraptor_rates import matraptor_rates

SIZES = {"processing": (4, 2), "lane": (5, 2), "converter": (6, 5), "cycle": (5, 6)}
"""Rows and columns by the tables' first words."""


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements that record their requests."""
    worst = {name: 0.01 * n for n, name in enumerate(COUNTERS)}
    for part, name in (
        (element_rate, "element_unit"),
        (cycle_deviation, "device_of"),
        (converter_rate, "converter_of"),
    ):
        monkeypatch.setattr(part, name, lambda *_: nullcontext())
    monkeypatch.setattr(element_rate, "element_rate", lambda _, lengths: (sum(lengths), 7.0))
    monkeypatch.setattr(lane_rate, "port_rate", lambda _, length: (length, 0.125))
    monkeypatch.setattr(
        converter_rate,
        "converter_rate",
        lambda _, direction, length, latency: length + latency / 1000 + (direction[0] == "c"),
    )
    monkeypatch.setattr(cycle_deviation, "deviation", lambda _: Deviation(12, worst))


def figures(found: Table, label: str) -> list[float | None]:
    return next(list(row.ours) for row in found.rows if row.label == label)


def check_shape(found: Any, configs: int) -> dict[str, Table]:
    """The parts by their first words."""
    written = json.loads(json.dumps(found.to_json()))
    assert written["table"] == "matraptor-rates"
    parts = {part.table.split()[0].strip(","): part for part in found.parts}
    assert list(parts) == list(SIZES)
    for part in written["parts"]:
        rows, columns = SIZES[part["table"].split()[0].strip(",")]
        assert len(part["columns"]) == columns
        assert len(part["rows"]) == (configs if part["table"].startswith("cycle") else rows)
        assert len({row["label"] for row in part["rows"]}) == len(part["rows"])
        assert all(len(row["ours"]) == columns for row in part["rows"])
    return parts


@pytest.mark.usefixtures("made_up")
def test_the_figures_of_the_table() -> None:
    seen: list[str] = []
    found = matraptor_rates("cmos", progress=seen.append)
    assert len(seen) == 2 + 1 + 6 + 5
    parts = check_shape(found, 5)
    assert figures(parts["processing"], "9 rows of 12 entries") == [108, 7]
    assert figures(parts["lane"], "entries in a row of B: 64") == [64, 0.125]
    assert figures(parts["converter"], "CSR to C2SR, latency 50") == [
        x + 1.05 for x in (1, 2, 8, 64, 1000)
    ]
    places = [list(COUNTERS).index(name) for name in ("cycles", "busy_cycles", "stalls")]
    ours = figures(parts["cycle"], "lanes x channels 2x2")
    assert ours[:4] == [12, *places]
    # In percent; the last one is the largest of all others.
    assert ours[5] == pytest.approx(len(COUNTERS) - 1)
    console = Console(file=StringIO(), width=140)
    found.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(word in text for word in ("processing element", "108.00", "1,001.05", "conflicts"))


@pytest.mark.usefixtures("made_up")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rates.json"
    assert main(["table", "matraptor-rates", "--json", str(path)]) == 0
    assert "converter, entries a cycle" in capsys.readouterr().out
    assert len(json.loads(path.read_text())["parts"]) == 4


def test_refusals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "matraptor-rates", "--target", "ice40"]) == 2
    message = "error: matraptor-rates is measured in simulation: no --target, not 'ice40'\n"
    assert capsys.readouterr().err == message

    def fail(*_: Any) -> None:
        raise BuildError("the compiler\nsays no")

    monkeypatch.setattr(element_rate, "element_unit", fail)
    assert main(["table", "matraptor-rates"]) == 2
    assert capsys.readouterr().err == "error: matraptor-rates: the compiler says no\n"

    def missing() -> None:
        raise toolchain.ToolMissing("no Verilator")

    monkeypatch.setattr(toolchain, "require_tools", missing)
    assert main(["table", "matraptor-rates"]) == 2
    assert capsys.readouterr().err == "error: no Verilator\n"


@pytest.mark.long
def test_the_bars() -> None:
    found = matraptor_rates("cmos", configs=["2x2"])
    parts = check_shape(found, 1)
    for row in parts["processing"].rows:
        needed, taken = (x or 0.0 for x in row.ours)
        assert needed <= taken <= needed + 0.5
    for row in parts["lane"].rows:
        assert 0.98 <= (row.ours[1] or 0.0) <= 1.01
    assert (figures(parts["lane"], "entries in a row of B: 500")[0] or 0.0) >= 0.98
    for name in ("CSR to C2SR", "C2SR to CSR"):
        assert all((x or 0.0) >= 0.95 for x in figures(parts["converter"], f"{name}, latency 1"))
    jobs, *shares = figures(parts["cycle"], "lanes x channels 2x2")
    assert jobs == 3 * len(cycle_deviation.INPUTS)
    assert shares == [0] * 5
