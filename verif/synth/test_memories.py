"""Large memories in synthesis: in no area of the logic, and on paths by their access time."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from rich.console import Console
from tilewright.hw.emit.unit import emit_component
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.mapping.hierarchy import split_design
from tilewright.synth.mapping.memories import MEMORY_BITS, MEMORY_WORDS, Shape
from tilewright.synth.memories.laws import transistors
from tilewright.synth.report import AsicReport, PathReport
from tilewright.synth.timing.opensta import opensta_available
from tilewright.verif.kit.data import empty_cache, needs_data, real_libraries, real_library

FLIP_FLOP = 24
"""Transistors, see `test_register_area`."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache(tmp_path / "cache", monkeypatch)


class Store(wiring.Component):
    """A memory with one write and one read port.

    Parameters
    ----------
    depth, width: words, bits of a word
    domain: of the read port
    parts: of a word, each with its own write enable
    """

    def __init__(self, depth: int, width: int, *, domain: str = "sync", parts: int = 1) -> None:
        self._depth, self._width, self._domain, self._parts = depth, width, domain, parts
        bits = (depth - 1).bit_length()
        super().__init__(
            {
                "write": In(parts),
                "write_address": In(bits),
                "write_data": In(width),
                "read": In(1),
                "read_address": In(bits),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=self._width, depth=self._depth, init=[])
        write = words.write_port(granularity=self._width // self._parts)
        read = words.read_port(domain=self._domain)
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]
        if self._domain == "sync":
            m.d.comb += read.en.eq(self.read)
        return m


class Stores(wiring.Component):
    """Two large memories of unlike shape, one of them twice, and a small one; sums of all that
    they read, in registers."""

    def __init__(self) -> None:
        super().__init__({"i": In(16), "write": In(1), "o": Out(16)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shapes = {"wide": (128, 16), "again": (128, 16), "deep": (300, 8), "small": (4, 8)}
        total: Value = self.i
        for name, (depth, width) in shapes.items():
            m.submodules[name] = store = Store(depth, width)
            m.d.comb += [
                store.write.eq(self.write),
                store.write_address.eq(self.i + 1),
                store.write_data.eq(self.i * 3),
                store.read.eq(1),
                store.read_address.eq(self.i),
            ]
            total = (total + store.read_data)[:16]
        m.d.sync += self.o.eq(total)
        return m


def _asic(component: wiring.Component, target: str = "cmos") -> AsicReport:
    emitted = emit_component(component, name="top")
    report = synthesize_verilog(emitted.verilog, "top", target)
    assert isinstance(report, AsicReport)
    return report


def _verilog(verilog: str, target: str = "cmos") -> AsicReport:
    report = synthesize_verilog(verilog, "top", target)
    assert isinstance(report, AsicReport)
    return report


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=needs_data)])
def test_a_large_memory_is_in_no_area(real: bool) -> None:
    report = _asic(Store(128, 16), f"liberty:{real_library()}" if real else "cmos")
    assert (report.memory_bits, report.flip_flops, report.cells) == (2048, 0, 0)
    assert (report.area, report.combinational, report.sequential) == (0, 0, 0)
    (memory,) = report.memories
    assert (memory.name, memory.instances, memory.bits, memory.total) == (
        "memory_128x16_1r1w",
        1,
        2048,
        2048,
    )
    assert [(m.name, m.whole, m.memory_bits) for m in report.modules] == [("top", 0, 2048)]
    # No path goes through it: this one begins there.
    assert report.path is not None
    assert (report.path.kind, report.path.cells) == ("register to output", 1)
    assert report.path.access_ns == report.path.ns == pytest.approx(memory.access_ns, rel=0.02)


def _macros(component: wiring.Component | str) -> list[str]:
    """Names of the stand-ins in a design, given as such or in Verilog."""
    if isinstance(component, wiring.Component):
        component = emit_component(component, name="top").verilog
    return [m.name for m in split_design(component, "top").modules.values() if m.memory_bits]


def test_one_bit_less_is_registers() -> None:
    assert MEMORY_BITS == 2048 == 89 * 23 + 1
    assert _macros(Store(89, 23)) == []
    assert _macros(Store(64, 32)) == ["memory_64x32_1r1w"]


def test_one_word_less_is_registers() -> None:
    assert MEMORY_WORDS == 32
    assert _macros(Store(31, 128)) == []
    assert _macros(Store(32, 128)) == ["memory_32x128_1r1w"]


def _check_what_is_shown(report: AsicReport) -> None:
    facts: dict[str, Any] = json.loads(json.dumps(report.to_json()))
    assert facts["memory_bits"] == 6496
    assert facts["register_files"] == [{"words": 4, "width": 8, "instances": 1}]
    wide = facts["memories"][0]
    assert [wide[name] for name in ("name", "instances", "bits", "total", "realised")] == [
        "memory_128x16_1r1w", 2, 2048, 4096, "1 x 128 x 16, 2 ports",
    ]  # fmt: skip
    console = Console(file=StringIO(), width=150)
    report.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    for word in (
        "memories, estimated", "6,496 bits", f"{report.memory_area:,.0f}", "memory_300x8_1r1w",
        "1 x 128 x 16, 2 ports", "extrapolated: 128 x 16 is not between them", "of memories",
        "flip-flops", "in the logic",
        "memories by transistors counted; times after CACTI", "6 transistors a bit",
        "error of the access time up to 8.3 % (rms 3.9 %), left out up to 9.7 % (rms 4.5 %)",
    ):  # fmt: skip
        assert word in text


def test_the_area_of_memories() -> None:
    """The report has the area of memories apart from the logic's, in units of the library and in
    its NAND gates."""
    report = _asic(Stores())
    each = {128: transistors(128, 16, 2), 300: transistors(300, 8, 2)}
    assert report.memory_area == 2 * each[128] + each[300]
    (top,) = (m for m in report.modules if m.name == "top")
    assert (top.memory_area, top.memory_bits) == (report.memory_area, report.memory_bits)
    assert report.area_with_memories == report.area + report.memory_area
    assert report.nand2_equivalents_with_memories == report.area_with_memories / 4
    assert report.nand2_equivalents == report.area / 4


def test_memories_of_unlike_shapes() -> None:
    report = _asic(Stores())
    found = [(m.name, m.instances, m.bits, m.total) for m in report.memories]
    assert found == [
        ("memory_128x16_1r1w", 2, 2048, 4096),
        ("memory_300x8_1r1w", 1, 2400, 2400),
    ]
    assert report.memory_bits == 4096 + 2400
    # The small one's words and its read register, and the sum.
    assert report.flip_flops == 4 * 8 + 8 + 16
    assert report.sequential == FLIP_FLOP * report.flip_flops
    assert sum(m.total for m in report.modules) + report.buffer_area == report.area
    assert not any(m.name.startswith("memory") for m in report.modules)
    top = next(m for m in report.modules if m.name == "top")
    assert top.memory_bits == report.memory_bits
    assert top.whole == report.area - report.buffer_area
    _check_what_is_shown(report)


IN_AND_OUT = """
module top(input clk, input [6:0] a, input w, input [15:0] d, output reg [15:0] o, input [6:0] b);
  reg [15:0] words [127:0];
  reg [15:0] q;
  always @(posedge clk) if (w) words[ADDRESS] <= d;
  always @(posedge clk) q <= words[b];
  always @(posedge clk) o <= RESULT;
endmodule
"""


def _path_of(address: str, result: str, target: str = "cmos") -> PathReport:
    report = _verilog(IN_AND_OUT.replace("ADDRESS", address).replace("RESULT", result), target)
    assert report.memory_bits == 2048
    assert report.path is not None
    assert "memories by their access and setup times" in report.timing_by
    return report.path


def test_paths_end_at_the_pins_of_a_memory() -> None:
    """A path into a memory has the setup time of a flip-flop, if the law has no other."""
    path = _path_of("(a * b + d[6:0]) * b + d[15:9]", "q")
    assert path.kind == "input to register"
    assert path.start[:2] in ("a[", "b[")
    assert path.end.startswith("words.write_address_pin[")
    assert path.memory_ns == path.memory_setup_ns == path.setup_ns > 0


def test_paths_start_at_the_pins_of_a_memory() -> None:
    path = _path_of("a", "q * 5 + 3")
    assert path.kind == "register to register"
    assert path.start.startswith("q[")
    assert path.end.startswith("o[")
    access = _verilog(IN_AND_OUT.replace("ADDRESS", "a").replace("RESULT", "q")).memories[0]
    assert path.access_ns == path.steps[0].arrival == pytest.approx(access.access_ns, rel=0.1)
    assert path.memory_ns == path.access_ns
    assert path.segments[0].module == access.name


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA is not installed")
@pytest.mark.parametrize("name", ["cmos", pytest.param("sg13g2", marks=needs_data)])
def test_opensta_has_the_same_times(name: str) -> None:
    verilog = IN_AND_OUT.replace("ADDRESS", "a * b").replace("RESULT", "q * 5 + 3")
    where = real_libraries() if name != "cmos" else None
    report = synthesize_verilog(
        verilog, "top", name, cross_check=True, effort="speed", liberty_path=where
    )
    assert isinstance(report, AsicReport)
    assert report.path is not None
    assert report.path.memory_ns > 0
    assert report.path.opensta_percent == pytest.approx(0, abs=0.001)


def test_enables_of_parts() -> None:
    emitted = emit_component(Store(64, 64, parts=4), name="top")
    design = split_design(emitted.verilog, "top")
    (memory,) = (m for m in design.modules.values() if m.memory_bits)
    assert (memory.name, memory.memory_bits) == ("memory_64x64_1r1w_4enables", 4096)
    assert memory.memory is not None
    assert memory.memory.shape == Shape(64, 64, 1, 1, enables=4)
    assert "wire width 4 input 5 \\write_enable\n" in memory.interface
    assert design.modules["top"].children == {"words": memory.name}


def test_a_reader_without_an_enable() -> None:
    report = _verilog(IN_AND_OUT.replace("ADDRESS", "a").replace("RESULT", "q"))
    # The register at the read port belongs to the memory.
    assert (report.memory_bits, report.flip_flops) == (2048, 16)
    assert report.combinational == 0


@pytest.mark.slow
def test_a_memory_read_without_a_clock_is_mapped_to_registers() -> None:
    report = _asic(Store(128, 16, domain="comb"))
    assert (report.memory_bits, report.memories) == (0, ())
    assert report.flip_flops == 2048
    assert report.sequential == FLIP_FLOP * report.flip_flops
    assert "memories" not in report.timing_by


ADDRESS_IN_A_REGISTER = """
module top(input clk, input w, input [6:0] a, b, input [15:0] d, output [15:0] o);
  reg [15:0] words [127:0];
  reg [6:0] place;
  always @(posedge clk) place <= b;
  always @(posedge clk) if (w) words[a] <= d;
  assign o = words[place];
endmodule
"""

BOTH_PORTS = """
module top(input clk, input w, input [6:0] a, b, input [15:0] d, output reg [15:0] o, p);
  reg [15:0] words [127:0];
  always @(posedge clk) if (w) words[a] <= d;
  always @(posedge clk) o <= words[b];
  CLOCK p <= words[d];
endmodule
"""

TABLE = """
module top(input clk, input [9:0] a, output reg [3:0] o);
  reg [3:0] words [1023:0];
  integer i;
  initial for (i = 0; i < 1024; i = i + 1) words[i] = i;
  always @(posedge clk) o <= words[a];
endmodule
"""


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(None, id="read without a clock"),
        pytest.param(ADDRESS_IN_A_REGISTER, id="address in a register"),
        pytest.param(BOTH_PORTS.replace("CLOCK", "always @*"), id="one port clocked"),
        pytest.param(BOTH_PORTS.replace("CLOCK", "always @(negedge clk)"), id="two edges"),
        pytest.param(TABLE, id="never written"),
    ],
)
def test_what_is_no_macro(design: str | None) -> None:
    verilog = design or emit_component(Store(128, 16, domain="comb"), name="top").verilog
    modules = split_design(verilog, "top").modules
    assert not any(module.memory for module in modules.values())
    # It is flip-flops, unless it is never written.
    found = [size for module in modules.values() for size in module.register_files]
    assert found == ([] if design == TABLE else [(128, 16)])


def test_two_read_ports() -> None:
    verilog = BOTH_PORTS.replace("CLOCK", "always @(posedge clk)")
    assert _macros(verilog) == ["memory_128x16_2r1w"]


def test_a_design_that_has_the_stand_ins_name() -> None:
    taken = "module memory_128x16_1r1w(input a, output o); assign o = ~a; endmodule"
    body = IN_AND_OUT.replace("ADDRESS", "a").replace("RESULT", "{16{n}}")
    body = body.replace("reg [15:0] q;", "reg [15:0] q; wire n; memory_128x16_1r1w m(q[3], n);")
    report = _verilog(taken + body)
    assert [m.name for m in report.memories] == ["memory_128x16_1r1w_2"]
    assert [m.name for m in report.modules if m.combinational] == ["memory_128x16_1r1w"]
