"""Static timing analysis against hand calculation and OpenSTA, and buffer trees."""

from __future__ import annotations

import random
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.library.liberty import read_library
from tilewright.synth.mapping.fanout import add_buffers
from tilewright.synth.mapping.netlist import Netlist
from tilewright.synth.report import AsicReport, PathReport
from tilewright.synth.timing.analysis import analyse, fo4
from tilewright.synth.timing.graph import TableStack
from tilewright.synth.timing.opensta import opensta_available, opensta_delay
from tilewright.verif.kit.data import empty_cache, needs_data, real_library
from tilewright.verif.synth.cell_libraries import ACCUMULATOR, CMOS, REGISTER

TAU = 0.0045
"""The unit of delay of the target ``cmos`` in ns."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache(tmp_path / "cache", monkeypatch)


def _path(verilog: str, top: str, target: str = "cmos", *, check: bool = False) -> PathReport:
    report = synthesize_verilog(verilog, top, target, cross_check=check)
    assert isinstance(report, AsicReport)
    assert report.path is not None
    return report.path


def _chain() -> Netlist:
    """Register, three inverters (the second drives two), register."""
    nets = {"clk": 0, "q": 1, "n1": 2, "n2": 3, "n3": 4, "d": 5}
    flip_flop = list(CMOS.cells["DFFX1"].pins)
    rows = [{"CK": nets["clk"], "D": nets["d"], "Q": nets["q"]}]
    rows += [{"CK": nets["clk"], "D": nets["n3"], "Q": -1}]
    inverters = [[nets["q"], nets["n1"]], [nets["n1"], nets["n2"]], [nets["n2"], nets["n3"]]]
    return Netlist(
        nets=6,
        cells={
            "DFFX1": np.array([[row[pin] for pin in flip_flop] for row in rows]),
            "INVX1": np.array([*inverters, [nets["n2"], -1]]),
        },
        inputs={"clk": np.array([0]), "d": np.array([5])},
        outputs={},
        clock_nets=np.array([0]),
    )


def test_timing_of_a_chain_by_hand() -> None:
    timing = analyse(_chain(), CMOS)
    path = timing.path
    assert path is not None
    # Clock to output with a load of one; inverters with loads of one, two and one; setup.
    steps = np.array([10 + 1, 1 + 1, 1 + 2, 1 + 1]) * TAU
    assert [step.arrival for step in path.steps] == pytest.approx(np.cumsum(steps))
    assert path.setup == pytest.approx(7.5 * TAU)
    assert path.total == pytest.approx((18 + 7.5) * TAU)
    assert path.kind == "register to register"
    assert [step.cell for step in path.steps] == ["DFFX1", "INVX1", "INVX1", "INVX1"]
    assert [step.fanout for step in path.steps] == [1, 1, 2, 1]
    assert {(step.instance, step.module, step.signal) for step in path.steps} == {("", "", "")}
    assert timing.fo4 == pytest.approx(5 * TAU)


def test_start_and_end_of_the_slowest_path_across_modules() -> None:
    path = _path(ACCUMULATOR, "accumulator")
    assert path.kind == "input to register"
    assert re.fullmatch(r"x\[\d+\]", path.start)
    assert re.fullmatch(r"sum\[\d+\]", path.end)
    assert path.fo4 == pytest.approx(path.ns / (5 * TAU))
    assert path.fmax_mhz == pytest.approx(1000 / path.ns)


def test_the_path_itself() -> None:
    """The path leads through one of the leaves into the accumulator, cell by cell and instance by
    instance."""
    path = _path(ACCUMULATOR, "accumulator")
    assert len(path.steps) == path.cells == sum(segment.cells for segment in path.segments)
    arrivals = [step.arrival for step in path.steps]
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] + path.setup_ns == pytest.approx(path.ns)
    spent = sum(segment.increment for segment in path.segments)
    assert spent + path.setup_ns == pytest.approx(path.ns)
    leaf, top = path.segments[-2:]
    assert leaf.instance in ("one", "two")
    assert (leaf.module, top.instance, top.module) == ("leaf", "", "accumulator")
    assert re.fullmatch(r"p\[\d+\]", leaf.signal)
    assert {segment.source for segment in path.segments} == {""}
    assert (path.start_source, path.end_source) == ("", "")
    place = 0
    for segment in path.segments:
        cells = path.steps[place : place + segment.cells]
        place += segment.cells
        assert {(step.instance, step.module) for step in cells} == {
            (segment.instance, segment.module)
        }
        assert segment.arrival == cells[-1].arrival
        assert segment.fanout == max(step.fanout for step in cells)
        assert segment.signal in [step.signal for step in cells]


def test_buffers_are_where_their_net_begins() -> None:
    """A register drives forty leaves through buffers that are in no module."""
    leaves = "\n".join(f"  leaf at_{n}(.a(s), .b(x[{n}]), .y(y[{n}]));" for n in range(40))
    path = _path(
        f"""
        module leaf(input a, input b, output y); assign y = a ^ b; endmodule
        module spread(input clk, input d, input [39:0] x, output [39:0] y);
          reg s;
          always @(posedge clk) s <= d;
        {leaves}
        endmodule""",
        "spread",
    )
    found = [(step.cell[:3], step.module, step.signal) for step in path.steps]
    assert found[0] == ("DFF", "spread", "s")
    assert found[1] == ("BUF", "spread", "")
    assert found[-1] == (found[-1][0], "leaf", "y")
    assert [(one.module, one.signal) for one in path.segments] == [("spread", "s"), ("leaf", "y")]


@pytest.mark.parametrize("period", [0.01, 100.0])
def test_slack(period: float) -> None:
    report = synthesize_verilog(REGISTER, "register", period=period)
    assert isinstance(report, AsicReport)
    assert report.path
    assert report.slack_ns == period - report.path.ns
    assert report.passed == (period == 100.0)
    console = Console(file=StringIO(), width=100)
    report.print(console)
    assert isinstance(console.file, StringIO)
    said = {0.01: "ns at 0.01 ns (100,000.0 MHz): NOT met", 100.0: "ns at 100 ns (10.0 MHz): met"}
    assert said[period] in console.file.getvalue()


def test_no_slack_without_a_path_or_a_clock() -> None:
    wire = synthesize_verilog("module w(input a, output o); assign o = a; endmodule", "w", period=1)
    assert wire.period_ns == 1
    assert wire.passed
    plain = synthesize_verilog(REGISTER, "register")
    assert (plain.period_ns, plain.slack_ns, plain.passed) == (None, None, True)


def test_a_combinational_loop_is_an_error() -> None:
    netlist = _chain()
    netlist.cells["INVX1"] = np.array([[2, 3], [3, 2]])
    with pytest.raises(ValueError, match=r"^a combinational loop through net_[23]$"):
        analyse(netlist, CMOS)


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=needs_data)])
def test_table_interpolation(real: bool) -> None:
    library = read_library(real_library()) if real else CMOS
    tables = [t for c in library.cells.values() for arc in c.arcs for t in arc.delay]
    stack = TableStack(tables)
    rng = random.Random(2)
    numbers = [rng.randrange(len(tables)) for _ in range(400)]
    points = [(rng.uniform(-0.1, 2), rng.uniform(-0.1, 6)) for _ in numbers]
    rows, columns = (np.array(axis) for axis in zip(*points, strict=True))
    found = stack.at(np.array(numbers), rows, columns)
    wanted = [tables[n].at(*point) for n, point in zip(numbers, points, strict=True)]
    assert found == pytest.approx(wanted)
    first, second = stack.both(np.array(numbers), np.array(numbers[::-1]), rows, columns)
    assert (first == found).all()
    assert (second == stack.at(np.array(numbers[::-1]), rows, columns)).all()
    alike = np.full(400, numbers[0])
    wanted = [tables[numbers[0]].at(*point) for point in points]
    assert stack.at(alike, rows, columns) == pytest.approx(wanted)


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA (`sta`) is not installed")
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=needs_data)])
@pytest.mark.parametrize(("verilog", "top"), [(ACCUMULATOR, "accumulator"), (REGISTER, "register")])
def test_timing_agrees_with_opensta(verilog: str, top: str, real: bool) -> None:
    target = f"liberty:{real_library()}" if real else "cmos"
    path = _path(verilog, top, target, check=True)
    assert path.opensta_ns is not None
    assert path.ns == pytest.approx(path.opensta_ns, rel=1e-3)


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA (`sta`) is not installed")
def test_opensta_agrees_on_the_chain() -> None:
    assert opensta_delay(_chain(), CMOS) == pytest.approx(25.5 * TAU, abs=1e-6)


@needs_data
def test_fo4_of_areal_library() -> None:
    delay, slew = fo4(read_library(real_library()))
    assert 0.010 < delay < 0.030
    assert 0.010 < slew < 0.100


@pytest.mark.parametrize(("loads", "buffers"), [(16, 0), (17, 2), (100, 7), (300, 19 + 2)])
def test_buffer_trees(loads: int, buffers: int) -> None:
    netlist = Netlist(
        nets=1,
        cells={"INVX1": np.array([[0, -1]] * loads)},
        inputs={"a": np.array([0])},
        outputs={},
        clock_nets=np.zeros(0, dtype=np.int64),
    )
    grown, count, cell = add_buffers(netlist, CMOS)
    assert count == buffers
    assert cell is not None
    rows = [r for kind, pins in grown.cells.items() for r in pins[:, 0].tolist() if kind]
    assert max(np.bincount(rows)) <= 16
    assert sum(len(pins) for pins in grown.cells.values()) == loads + buffers


def test_where_a_path_is_written() -> None:
    """Signal by signal: of a segment the last one that has a name, of its ends the ports."""
    lines = {
        ("leaf", "p"): "leaf.py:7",
        ("accumulator", "sum"): "top.py:3",
        ("leaf", ""): "leaf.py:1",
    }

    def source(module: str, signal: str) -> str:
        return lines.get((module, signal)) or lines.get((module, ""), "")

    report = synthesize_verilog(ACCUMULATOR, "accumulator", source=source)
    assert isinstance(report, AsicReport)
    assert report.path
    assert (report.path.start_source, report.path.end_source) == ("", "top.py:3")
    assert [one.source for one in report.path.segments if one.module == "leaf"] == ["leaf.py:7"]
    console = Console(file=StringIO(), width=100)
    report.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert text.count("leaf.py:7") == 1
    assert "top.py:3" in text
