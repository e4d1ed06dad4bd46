"""Mapping for speed, sizes of cells, the smallest area for a period, and the figures of a curve."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.synth.cells import library_text
from tilewright.synth.curve import CurvePoint, write_curve
from tilewright.synth.effort import Implementer
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.library.cells import Library
from tilewright.synth.library.liberty import load_library
from tilewright.synth.mapping.abc import MAPPINGS, map_module
from tilewright.synth.mapping.fanout import add_buffers
from tilewright.synth.mapping.flattening import flatten
from tilewright.synth.mapping.hierarchy import Design, split_design
from tilewright.synth.mapping.netlist import MappedModule, read_mapped
from tilewright.synth.report import AsicReport
from tilewright.synth.targets import target_library
from tilewright.synth.timing import sizing
from tilewright.synth.timing.analysis import analyse
from tilewright.synth.timing.families import families, merged_arcs
from tilewright.synth.timing.opensta import opensta_available, opensta_delay
from tilewright.synth.timing.sizing import Sizer
from tilewright.verif.kit.data import empty_cache, needs_data, real_libraries
from tilewright.verif.synth.cell_libraries import ACCUMULATOR, CMOS

CHAIN = """
module chain(input clk, input [23:0] x, y, output reg [23:0] o);
  reg [23:0] a, b;
  wire [24:0] c;
  assign c[0] = a[0];
  genvar i;
  generate for (i = 0; i < 24; i = i + 1) begin : each
    assign c[i+1] = (a[i] & c[i]) | b[i];
  end endgenerate
  always @(posedge clk) begin a <= x; b <= y; o <= c[24:1] ^ a; end
endmodule
"""
LIBRARIES = ("asap7", "gscl45nm", "sg13g2", "sky130hd")


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all tests of this module: they map the same design."""
    patch = pytest.MonkeyPatch()
    empty_cache(tmp_path_factory.mktemp("effort") / "cache", patch)
    yield
    patch.undo()


def _real(name: str) -> Library:
    found = target_library(name, liberty_path=real_libraries())
    assert found is not None
    return found


def _implementer(library: Library, wires: bool = False) -> Implementer:
    design = split_design(ACCUMULATOR, "accumulator")
    mapped = partial(_mapped, design, library)
    return Implementer(design, library, mapped, wires)


def _mapped(design: Design, library: Library, mapping: str = "area") -> dict[str, MappedModule]:
    return {
        name: read_mapped(map_module(design, name, library, mapping), name, library)
        for name in design.order()
    }


def _report(period: float | None = None, *, curve: bool = False) -> AsicReport:
    found = synthesize_verilog(CHAIN, "chain", period=period, effort="speed", curve=curve)
    assert isinstance(found, AsicReport)
    return found


# Sizes


def test_families_are_cells_of_one_function() -> None:
    found = families(CMOS)
    inverters, place = found["INVX2"]
    assert [cell.name for cell in inverters.members] == ["INVX1", "INVX2", "INVX4"]
    assert place == 1
    assert [cell.name for cell in found["BUFX4"][0].members] == ["BUFX2", "BUFX4"]
    assert len(found["NAND2X1"][0].members) == 1


def test_sizes_agree_with_the_analysis() -> None:
    """The sizer's own timing and area are those of the modules that it makes."""
    implementer = _implementer(CMOS)
    modules = implementer.mapping("area")
    netlist, _, _ = add_buffers(flatten(modules, "accumulator", CMOS), CMOS)
    sizer = Sizer(netlist, modules, CMOS)
    before = analyse(netlist, CMOS).path
    assert before is not None
    assert sizer.analyse(sizer.size) == pytest.approx(before.total)
    size = sizer.run(None)
    assert (size != sizer.size).any()
    resized = implementer.implement(sizer.resized(size))
    assert resized.ns == pytest.approx(sizer.analyse(size))
    assert resized.ns < before.total
    assert resized.area == pytest.approx(sizer.total_area(size))
    small = sizer.run(before.total)
    assert sizer.analyse(small) <= before.total
    assert sizer.total_area(small) <= sizer.total_area(sizer.size)


def test_a_weight_is_the_derivative_of_the_slowest_path() -> None:
    """Delays that grow by a little make the soft maximum of all paths grow by their weights."""
    implementer = _implementer(CMOS)
    modules = implementer.mapping("area")
    netlist, _, _ = add_buffers(flatten(modules, "accumulator", CMOS), CMOS)
    sizer = Sizer(netlist, modules, CMOS)
    slowest = sizer.analyse(sizer.size)
    sizer._weigh(slowest)
    assert sizer.end_weight.sum() == pytest.approx(1)
    for start, _ in sizer._levels[:1]:
        assert start == 0
    # Every path takes one arc out of the level of the registers' outputs or the inputs.
    first = np.isin(sizer.source, sizer.target, invert=True)
    assert sizer.weight[first].sum() == pytest.approx(1, abs=1e-6)


def test_a_sample_of_instances_has_the_loads_of_all() -> None:
    leaves = "\n".join(
        f"  leaf at_{n}(.a(d), .b(x[{n}]), .clk(clk), .y(y[{n}]));" for n in range(9)
    )
    verilog = f"""
    module leaf(input clk, a, b, output reg y); always @(posedge clk) y <= a ^ b; endmodule
    module spread(input clk, d, input [8:0] x, output [8:0] y);
    {leaves}
    endmodule"""
    design = split_design(verilog, "spread")
    modules = _mapped(design, CMOS)
    netlist = flatten(modules, "spread", CMOS)
    kept = netlist.sample(1, ["at_4"])
    assert {int(mask.sum()) for mask in kept.values()} == {2}
    assert {len(mask) for mask in kept.values()} == {9}
    whole, part = (analyse(netlist, CMOS, None, which).path for which in (None, kept))
    assert whole is not None
    assert part is not None
    assert part.total == pytest.approx(whole.total)


# Efforts, periods and curves


def test_speed_and_periods() -> None:
    """The fastest is faster than the mapping for area and larger; periods between cost less."""
    fast = _report()
    figures = {one.effort: one for one in fast.efforts}
    assert fast.path is not None
    assert fast.effort == "speed"
    assert figures["speed"].area == pytest.approx(fast.area)
    assert figures["speed"].ns == fast.path.ns == fast.least_period_ns
    assert figures["speed"].ns < 0.7 * figures["area"].ns
    period = (figures["speed"].ns + figures["area"].ns) / 2
    between = _report(period)
    assert between.passed
    assert between.path is not None
    assert between.path.ns <= period
    assert between.area <= fast.area
    short = _report(0.5 * figures["speed"].ns)
    assert not short.passed
    assert short.path is not None
    assert short.path.ns == short.least_period_ns == figures["speed"].ns
    console = Console(file=StringIO(), width=100)
    short.print(console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert "NOT met" in said
    assert "least period" in said


def test_the_mapping_for_area_is_as_it_was() -> None:
    plain = synthesize_verilog(CHAIN, "chain")
    assert isinstance(plain, AsicReport)
    assert (plain.effort, plain.least_period_ns, plain.curve) == ("area", None, ())
    assert [one.effort for one in plain.efforts] == ["area"]
    fast = _report()
    assert fast.efforts[0] == plain.efforts[0]


def test_a_design_without_paths_has_no_speed() -> None:
    found = synthesize_verilog(
        "module w(input a, output o); assign o = a; endmodule", "w", effort="speed", curve=True
    )
    assert isinstance(found, AsicReport)
    assert found.path is not None
    assert (found.path.ns, found.area, found.curve) == (0, 0, ())


def test_a_curve(tmp_path: Path) -> None:
    """Slower designs are no larger, and each meets its period."""
    found = _report(curve=True)
    assert len(found.curve) == 8
    for one, following in zip(found.curve, found.curve[1:], strict=False):
        assert one.ns <= one.period_ns * (1 + 1e-9)
        assert following.area <= one.area
    write_curve(tmp_path / "a.csv", "x", found.curve, found.area_unit)
    rows = list(csv.reader(StringIO((tmp_path / "a.csv").read_text())))
    assert rows[0] == ["period_ns", "reached_ns", "area, transistors"]
    assert [float(row[2]) for row in rows[1:]] == [one.area for one in found.curve]


def test_drawings_of_a_curve(tmp_path: Path) -> None:
    curve = [CurvePoint(1.0, 0.98, 2_500_000.0), CurvePoint(2.0, 1.9, 1_200_000.0)]
    for name in ("a.svg", "a.png", "one.svg"):
        write_curve(tmp_path / name, "a <unit>", curve[: 1 + (name[0] == "a")], "library units")
    text = (tmp_path / "a.svg").read_text()
    assert "a &lt;unit&gt;" in text
    assert "area, library units" in text
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--effort fast", "`effort` must be one of area, speed, not 'fast'"),
        ("--wires long", "`wires` must be one of none, wireload, not 'long'"),
        ("--wires wireload", "`wires` must be none: library tilewright_cmos has no default "
         "wire-load model"),
        ("--curve x.txt", "x.txt: must end in .svg, .png or .csv, not '.txt'"),
        ("--target ecp5 --curve x.svg", "--curve is of cell libraries: not for --target ecp5"),
        ("--dont-use Q*", "cells to avoid must be in library tilewright_cmos, not 'Q*'"),
        ("--liberty-path . --target asap7", "liberty path . must have asap7, asap7.lib or "
         "asap7.lib.gz"),
    ],
)  # fmt: skip
def test_refusals(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["synth", "simd2", "--set", "tile=2", *words.split()]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"
    assert list(tmp_path.iterdir()) == []


# Wires


def test_wires_of_a_model_by_hand() -> None:
    """A register, an inverter with two loads, and the wires to them."""
    library = _with_wires()
    model = library.wire_load
    assert model is not None
    assert model.length(np.array([0, 1, 2, 3, 5])) == pytest.approx([0, 10, 30, 40, 60])
    verilog = """module t(input clk, input d, output reg q, r);
      reg s; always @(posedge clk) begin s <= d; q <= ~s; r <= ~s; end endmodule"""
    paths = []
    for wires in (None, model):
        design = split_design(verilog, "t")
        modules = _mapped(design, library)
        netlist = flatten(modules, "t", library)
        path = analyse(netlist, library, wires).path
        assert path is not None
        paths.append(path)
        sizer = Sizer(netlist, modules, library, wires)
        assert sizer.analyse(sizer.size) == pytest.approx(path.total)
        if opensta_available():
            assert opensta_delay(netlist, library, wires) == pytest.approx(path.total, rel=1e-4)
    assert paths[1].total > paths[0].total


def test_wires_by_the_area() -> None:
    library = _with_wires("""
      wire_load (long) { capacitance : 0.02; slope : 20; }
      wire_load_selection (other) { wire_load_from_area (0, 9000, long); }
      wire_load_selection (metals) {
        wire_load_from_area (500, 1000, long); wire_load_from_area (100, 500, short);
        wire_load_from_area (1000, 2000, unknown); }
      default_wire_load_selection : metals;""")
    names = [model.name for model in map(library.wires, (99, 100, 499, 500, 1e9)) if model]
    assert names == ["short", "short", "short", "long", "long"]
    assert len(library.wire_areas) == 2
    assert _implementer(library).wires is None
    assert _implementer(library, wires=True).wires == library.wires(1e9) != library.wire_load


def _with_wires(more: str = "") -> Library:
    """The library ``cmos`` with a wire-load model, and more of them."""
    from tilewright.synth.cells import library_text
    from tilewright.synth.library.liberty import load_library

    wires = """
      wire_load (short) { capacitance : 0.02; resistance : 0.5; slope : 10;
        fanout_length (1, 10); fanout_length (3, 40); fanout_length (2, 30); }
      default_wire_load : short;"""
    wires += more + "lu_table_template"
    return load_library(library_text().replace("lu_table_template", wires, 1))


# Real libraries


@needs_data
@pytest.mark.parametrize("name", LIBRARIES)
def test_speed_in_real_libraries(name: str) -> None:
    """Faster than mapped for area; all cells are usable ones; OpenSTA agrees, with wires, too."""
    library = _real(name)
    for wires in (False, True)[: 1 + (library.wire_load is not None)]:
        implementer = _implementer(library, wires)
        fast = implementer.fastest()
        assert fast.netlist
        assert fast.ns < implementer.plain.ns
        assert all(library.cells[kind].usable for kind in fast.netlist.cells)
        if opensta_available():
            found = opensta_delay(fast.netlist, library, implementer.wires)
            assert found == pytest.approx(fast.ns, rel=1e-3)


@needs_data
def test_merged_arcs_are_no_faster() -> None:
    library = _real("asap7")
    merged = merged_arcs(library)
    for name in ("AO22x1_ASAP7_75t_R", "XOR2x1_ASAP7_75t_R", "DFFHQNx1_ASAP7_75t_R"):
        cell, other = library.cells[name], merged.cells[name]
        for arc in cell.arcs:
            for before, after in arc.edges if arc.kind != "setup" else ():
                same = [
                    one
                    for one in other.arcs
                    if (one.source, one.target, one.kind) == (arc.source, arc.target, arc.kind)
                    and (before, after) in one.edges
                ]
                assert len(same) == 1
                assert (same[0].delay[after].values >= arc.delay[after].values - 1e-12).all()


def test_a_mapping_that_fails_is_the_next_smaller_one() -> None:
    """ABC's ``map`` finds no slope in tables of two loads."""
    design = split_design(ACCUMULATOR, "accumulator")
    texts = {mapping: map_module(design, "leaf", CMOS, mapping) for mapping in MAPPINGS}
    assert len(set(texts.values())) == len(MAPPINGS)
    text = re.sub(r'"([\d.]+), [\d.]+, ([\d.]+)"', r'"\1, \2"', library_text())
    two_loads = load_library(text)
    assert map_module(design, "leaf", two_loads, "fast") == texts["balanced"]


def test_sizing_ends_when_nothing_gets_better() -> None:
    assert sizing.PATIENCE < sizing.PASSES
