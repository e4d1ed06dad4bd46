"""Synthesis: areas against hand counts, the mapped gates against arithmetic, bad input."""

from __future__ import annotations

import json
import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console
from tilewright.synth.base.errors import ToolError
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.library.cells import Library
from tilewright.synth.library.liberty import read_library
from tilewright.synth.mapping.abc import map_module
from tilewright.synth.mapping.fanout import add_buffers
from tilewright.synth.mapping.flattening import flatten
from tilewright.synth.mapping.hierarchy import split_design
from tilewright.synth.mapping.netlist import Netlist, read_mapped
from tilewright.synth.report import AsicReport
from tilewright.synth.sources import read_sources
from tilewright.verif.kit.data import empty_cache, needs_data, real_library, with_tools
from tilewright.verif.synth.cell_libraries import ACCUMULATOR, CMOS, REGISTER


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache(tmp_path / "cache", monkeypatch)


def _asic(verilog: str, top: str, target: str = "cmos", **options: Any) -> AsicReport:
    report = synthesize_verilog(verilog, top, target, **options)
    assert isinstance(report, AsicReport)
    return report


def _mapped(verilog: str, top: str, library: Library = CMOS) -> Netlist:
    design = split_design(verilog, top)
    modules = {n: read_mapped(map_module(design, n, library), n, library) for n in design.order()}
    return flatten(modules, top, library)


def _simulate(
    netlist: Netlist, library: Library, inputs: dict[str, npt.NDArray[np.int64]]
) -> dict[str, list[int]]:
    """Evaluate a combinational netlist for many input values at once."""
    count = len(next(iter(inputs.values())))
    values: dict[int, npt.NDArray[np.bool_]] = {}
    for port, nets in netlist.inputs.items():
        for bit, net in enumerate(nets.tolist()):
            values[net] = (inputs[port] >> bit & 1).astype(bool)
    waiting = [(kind, row) for kind, rows in netlist.cells.items() for row in rows.tolist()]
    while waiting:
        later = []
        for kind, row in waiting:
            cell = library.cells[kind]
            pins = dict(zip(cell.pins, row, strict=True))
            if any(pins[pin] not in values for pin in cell.inputs):
                later.append((kind, row))
                continue
            index = np.zeros(count, dtype=np.int64)
            for pin in cell.inputs:
                index = 2 * index + values[pins[pin]]
            for pin in cell.outputs:
                table = cell.truth(pin)
                assert table is not None
                values[pins[pin]] = np.array(table)[index]
        assert len(later) < len(waiting), "cells whose inputs nothing drives"
        waiting = later
    results = {}
    for port, nets in netlist.outputs.items():
        bits = [values[net].astype(object) << bit for bit, net in enumerate(nets.tolist())]
        results[port] = [int(x) for x in np.sum(bits, axis=0)]
    return results


# Areas


def test_register_area() -> None:
    report = _asic(REGISTER, "register")
    assert (report.area, report.combinational, report.flip_flops) == (5 * 24, 0, 5)
    assert report.transistors == 120
    assert report.nand2_equivalents == 30


@needs_data
def test_register_area_in_areal_library() -> None:
    report = _asic(REGISTER, "register", f"liberty:{real_library()}")
    assert report.area == pytest.approx(5 * 7.9781)
    assert report.nand2_equivalents == pytest.approx(5 * 7.9781 / 1.8772)
    assert (report.transistors, report.flip_flops, report.combinational) == (None, 5, 0)


@pytest.mark.parametrize(
    ("expression", "transistors"),
    [("~(a & b)", 4), ("a ^ b", 10), ("~(a | b)", 4), ("~a", 2), ("~((a & b) | c)", 6), ("a", 0)],
)
def test_gate_area(expression: str, transistors: int) -> None:
    verilog = (
        f"module gate(input [5:0] a, b, c, output [5:0] o); assign o = {expression}; endmodule"
    )
    assert _asic(verilog, "gate").area == 6 * transistors


def test_full_adders_written_as_gates_become_cells() -> None:
    stages = "\n".join(
        f"assign s[{i}] = a[{i}] ^ b[{i}] ^ c[{i}];"
        f"assign c[{i + 1}] = (a[{i}] & b[{i}]) | (a[{i}] & c[{i}]) | (b[{i}] & c[{i}]);"
        for i in range(9)
    )
    verilog = f"""module ripple(input [8:0] a, b, input ci, output [8:0] s, output co);
    wire [9:0] c; assign c[0] = ci; assign co = c[9]; {stages} endmodule"""
    assert _asic(verilog, "ripple").area == 9 * 28


def test_module_areas_add_up() -> None:
    report = _asic(ACCUMULATOR, "accumulator")
    rows = {module.name: module for module in report.modules}
    assert rows["leaf"].instances == 2
    assert rows["accumulator"].flip_flops == report.flip_flops == 20
    assert sum(m.total for m in report.modules) + report.buffer_area == report.area
    assert report.combinational + report.sequential + report.buffer_area == report.area
    top = rows["accumulator"]
    assert top.whole == top.total + 2 * rows["leaf"].whole == report.area - report.buffer_area
    netlist = _mapped(ACCUMULATOR, "accumulator")
    flat = sum(CMOS.cells[kind].area * len(pins) for kind, pins in netlist.cells.items())
    assert flat == top.whole


def test_areas_of_modules_that_are_not_put_together() -> None:
    """The same, but for buffers of nets that cross modules."""
    leaves = "\n".join(f"  leaf at_{n}(.a(s), .b(x[{n}]), .y(y[{n}]));" for n in range(40))
    verilog = f"""
    module leaf(input a, input b, output y);
      assign y = a ^ b;
    endmodule
    module spread(input s, input [39:0] x, output [39:0] y);
    {leaves}
    endmodule
    """
    whole, parts = (_asic(verilog, "spread", together=each) for each in (True, False))
    assert whole.buffers > 0
    assert whole.path is not None
    assert (parts.buffers, parts.buffer_area, parts.path, parts.timing_by) == (0, 0.0, None, "")
    assert parts.modules == whole.modules
    assert parts.area == whole.area - whole.buffer_area == 40 * parts.modules[0].whole
    assert parts.cells == whole.cells - whole.buffers
    console = Console(file=StringIO(), width=100)
    parts.print(console)


def test_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _asic(ACCUMULATOR, "accumulator").to_json()
    cached = _asic(ACCUMULATOR, "accumulator").to_json()
    empty_cache(tmp_path / "other", monkeypatch)
    assert first == cached == _asic(ACCUMULATOR, "accumulator").to_json()
    assert len(list((tmp_path / "other" / "synth").iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_no_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    private = with_tools(tmp_path / f"tilewright-{os.getuid()}")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert _asic(REGISTER, "register").area == 120
    assert list((private / "synth").iterdir())
    assert capsys.readouterr().err.startswith(f"warning: the cache {tmp_path / 'file'} cannot be ")


# Tests of the function of the gates


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=needs_data)])
def test_mapped_gates_compute_what_the_verilog_says(real: bool) -> None:
    library = read_library(real_library()) if real else CMOS
    verilog = """
    module product(input [8:0] a, input [6:0] b, output [15:0] p); assign p = a * b; endmodule
    module flip(input a, s, output o); assign o = a ^ s; endmodule
    module work(input [8:0] a, input [6:0] b, input [8:0] c, input s,
                output [15:0] o, output [8:0] same, output less, output [17:0] flipped);
      wire [15:0] p;
      flip each [17:0] (.a({a, c}), .s(s), .o(flipped));
      product inner(.a(a), .b(b), .p(p));
      assign o = p + c + (s ? {16{s}} & {9'b0, b} : ~p);
      assign same = a;
      assign less = a < c;
    endmodule"""
    netlist, buffers, _ = add_buffers(_mapped(verilog, "work", library), library)
    assert buffers > 0
    rng = np.random.default_rng(1)
    a, b, c, s = (rng.integers(0, 2**n, 500) for n in (9, 7, 9, 1))
    found = _simulate(netlist, library, {"a": a, "b": b, "c": c, "s": s})
    p = a * b
    assert found["o"] == ((p + c + np.where(s, b, ~p)) & 0xFFFF).tolist()
    assert found["same"] == a.tolist()
    assert found["flipped"] == ((a << 9 | c) ^ (s * 0x3FFFF)).tolist()
    assert found["less"] == (a < c).tolist()


@pytest.mark.parametrize(("a", "b"), [(3, 3), (4, 9), (11, 11), (12, 7), (24, 24)])
def test_multipliers(a: int, b: int) -> None:
    verilog = f"""module multiply(input [{a - 1}:0] a, input [{b - 1}:0] b,
    output [{a + b - 1}:0] o); assign o = a * b; endmodule"""
    netlist = _mapped(verilog, "multiply")
    assert len(netlist.cells["FAX1"]) >= (a - 2) * (b - 2)
    rng = np.random.default_rng(a)
    left, right = rng.integers(0, 2**a, 300), rng.integers(0, 2**b, 300)
    left[:2], right[1:3] = 2**a - 1, 2**b - 1
    found = _simulate(netlist, CMOS, {"a": left, "b": right})
    assert found["o"] == (left * right).tolist()


def test_parameterised_modules_are_told_apart() -> None:
    verilog = """
    module add #(parameter W = 4)(input [W-1:0] a, b, output [W-1:0] o);
      assign o = a + b;
    endmodule
    module both(input [7:0] a, b, output [7:0] x, y, output [3:0] z);
      add #(8) one(a, b, x);
      add #(8) two(b, x, y);
      add three(a[3:0], b[3:0], z);
    endmodule"""
    counts = split_design(verilog, "both").counts()
    assert sorted(counts.values()) == [1, 1, 2]


# Bad input


@pytest.mark.parametrize(
    ("target", "meant"),
    [("asic", ""), ("liberty", "liberty:FILE"), ("liberty:", "liberty:FILE"), ("", ""),
     ("CMOS", "cmos")],
)  # fmt: skip
def test_an_unknown_target(target: str, meant: str) -> None:
    allowed = "cmos, liberty:FILE, asap7, gscl45nm, sg13g2, sky130hd, ecp5, ice40"
    message = f"`target` must be one of {allowed}, not {target!r}"
    message += f"; did you mean {meant!r}?" if meant else ""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        synthesize_verilog(REGISTER, "register", target)


@pytest.mark.parametrize(
    ("verilog", "top"), [("module x(", "x"), (REGISTER, "other"), (REGISTER, "a b")]
)
def test_bad_verilog(verilog: str, top: str) -> None:
    with pytest.raises(ValueError, match=r"^the (Verilog of|top module) [^\n]+$"):
        synthesize_verilog(verilog, top)


def test_a_latch_has_no_cell() -> None:
    verilog = "module l(input e, d, output reg q); always @* if (e) q = d; endmodule"
    with pytest.raises(ToolError, match=r"^yosys: ERROR: .*latches are not supported$"):
        synthesize_verilog(verilog, "l")


# Reports


def test_a_report_prints_and_serialises() -> None:
    report = _asic(ACCUMULATOR, "accumulator", config={"width": 8})
    facts = json.loads(json.dumps(report.to_json()))
    assert (facts["unit"], facts["target"], facts["config"]) == (
        "accumulator",
        "cmos",
        {"width": 8},
    )
    assert facts["path"]["end"] == report.path.end if report.path else False
    console = Console(file=StringIO(), width=100)
    report.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    for word in ("transistors", "NAND2 equivalents", "20 flip-flops", "FO4 of 22.5 ps", "leaf"):
        assert word in text


# Verilog of others


PACKAGE = "package widths; localparam int W = 4; endpackage\n"
PART = """`include "names.vh"
module part import widths::*; (input logic clk, input logic [`WIDTH-1:0] d, output logic [W-1:0] q);
  always_ff @(posedge clk) q <= d;
endmodule
"""
WHOLE = """module whole #(parameter bit INVERT = 0)
  (input logic clk, input logic [3:0] a, b, output logic [3:0] x, y);
  part first(.clk, .d(INVERT ? ~a : a), .q(x));
  part second(.clk, .d(b), .q(y));
endmodule
"""


def _sources(folder: Path) -> Path:
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "widths.sv").write_text(PACKAGE)
    (folder / "inside" / "names.vh").write_text("`define WIDTH 4\n")
    (folder / "part.sv").write_text(PART)
    (folder / "whole.sv").write_text(WHOLE)
    return folder


def test_verilog_of_others(tmp_path: Path) -> None:
    """Packages, headers and parameters are read; equal instances are one module."""
    folder = _sources(tmp_path / "with space")
    area = {}
    for invert in (0, 1):
        report = _asic(read_sources([folder], "whole", [f"INVERT=1'b{invert}"]), "whole")
        assert {row.name: row.instances for row in report.modules} == {"whole": 1, "part": 2}
        assert report.flip_flops == 8
        area[invert] = report.area
    assert area[1] - area[0] == 4 * 2  # an inverter has two transistors

    files = [folder / "part.sv", folder / "whole.sv", folder / "inside"]
    assert _asic(read_sources(files, "whole"), "whole").area == area[0]


def test_verilog_of_others_that_is_not_usable(tmp_path: Path) -> None:
    folder = _sources(tmp_path / "rtl")
    with pytest.raises(ValueError, match=r"`wholes` is not usable: .*wholes"):
        read_sources([folder], "wholes")
    with pytest.raises(ValueError, match=r"`whole` is not usable: .*unknown module 'part'"):
        read_sources([folder / "whole.sv"], "whole")
    (folder / "part.sv").write_text(PART + "endmodule\n")
    with pytest.raises(ValueError, match=re.escape(f"{folder / 'part.sv'}:5:")):
        read_sources([folder], "whole")
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no Verilog, files that end in"):
        read_sources([empty], "whole")
