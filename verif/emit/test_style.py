"""The emitted text: that it means what the component means, and how it is written."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.hierarchy import Hierarchy
from tilewright.hw.emit.keywords import KEYWORDS
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.emit.verilog.expressions import Node, Scope, Tokens, signed, width
from tilewright.hw.emit.verilog.inline import with_expressions
from tilewright.hw.emit.verilog.parameters import Use
from tilewright.hw.emit.verilog.simplifications import (
    indexed_bits,
    with_constant_bits,
    with_indices,
)
from tilewright.hw.emit.verilog.statements import items, written
from tilewright.hw.emit.verilog.writer import to_verilog
from tilewright.registry import entries
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints, run_yosys
from tilewright.verif.kit.options import EVERY_UNIT, emitted_unit
from tilewright.verif.kit.sampling import by_size, slow_but


def _plain(match: re.Match[str]) -> str:
    """The identifier for a signal whose name is not one."""
    name = match[0]
    plain = re.sub(r"\W+", "_", name).strip("_") if "$" in name else name
    return f"{plain}_" if name in KEYWORDS else plain


def _name(match: re.Match[str]) -> str:
    """Returns the component's name of an instance in a loop."""
    return "\\" + "_".join(number for number in match.groups() if number)


# Memories as registers last; what a port would write while it does not is anything.
PREPARE = "proc; opt_reduce; opt_expr -mux_undef -mux_bool; opt_clean; memory_map; design -save"


def _one_of_each(uses: Mapping[str, Use]) -> str:
    """A module with an instance of each block's module, with its parameters, called after it."""
    instances = [f"  {use.instance(block).opening});\n" for block, use in uses.items()]
    return "module one_of_each;\n" + "".join(instances) + "endmodule\n"


def _read_gate(directory: Path) -> dict[str, str]:
    """Returns the module of each instance in gate.il; modules derived from parameters are
    renamed."""
    script = "read_verilog -sv gate.v; hierarchy -top one_of_each; write_rtlil gate.il"
    run_yosys(script, directory)
    gate = (directory / "gate.il").read_text()
    for number, derived in enumerate(dict.fromkeys(re.findall(r"^module (\$\S+)$", gate, re.M))):
        gate = re.sub(rf"(?<=\s){re.escape(derived)}(?=\s)", rf"\\derived_{number}", gate)
    (directory / "gate.il").write_text(
        re.sub(r"\\(\w+)\[(\d+)\](?:\.at\[(\d+)\])?\.unit\b", _name, gate)
    )
    _, _, top = gate.partition("module \\one_of_each\n")
    cells = re.findall(r"^  cell \\(\S+) \\(\S+)$", top.partition("\nend\n")[0], re.M)
    return {block: module for module, block in cells}


PROVED = slow_but(["simd2"], entries(), ["m3xu", "c2sr_converter", "matraptor"])
"""Units whose modules are proved: the default test takes some whose modules are small."""


@pytest.mark.parametrize("unit", PROVED)
def test_each_module_computes_what_its_component_does(unit: str, tmp_path: Path) -> None:
    """Every bit of every register, memory and output, for any inputs and any state.

    Of a unit of many modules the default test takes a dozen, the long test all.
    Every variant of a module with parameters is proved, and so is a probe: one with values that the
    unit does not use.
    """
    built = entries()[unit].unit
    hierarchy = Hierarchy(unit, built.build(entries()[unit].small_config))
    blocks = {**hierarchy.probes, **hierarchy.blocks}
    gold = "\n".join(block.rtlil for block in blocks.values())
    (tmp_path / "gold.il").write_text(re.sub(r"(?<=\\)[a-z$][\w$]*", _plain, gold))
    text, uses = to_verilog([*blocks.values()])
    (tmp_path / "gate.v").write_text(text + _one_of_each(uses))
    gates = _read_gate(tmp_path)
    script = [f"read_rtlil gold.il; {PREPARE} gold; design -reset"]
    script += [f"read_rtlil gate.il; {PREPARE} gate"]
    every = by_size(1 + len(gates) // 12, 1 + len(gates) // 12, 1)
    chosen = [m for n, m in enumerate(gates) if n % every == 0 or uses[m].parameters]
    for module in chosen:
        for side, name in (("gold", module), ("gate", gates[module])):
            # A wire that is nothing but parts of registers would be taken for one more register.
            script.append(f"design -load {side}; opt_clean -purge {name}")
            script.append(f"expose -evert -dff -evert-dff {name}")
            script.append(f"delete * {name} %d; rename {name} {side}; design -stash {side}_only")
        copies = (f"design -copy-from {side}_only {side}" for side in ("gold", "gate"))
        script += ["design -reset", *copies, "miter -equiv -flatten gold gate miter"]
        script += ["hierarchy -top miter; opt -full; sat -verify -prove trigger 0 miter"]
    run_yosys("; ".join(script), tmp_path)


def _text(unit: str, **parameters: Any) -> str:
    return emitted_unit(unit, **parameters).verilog


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_registers_are_assigned_once_and_directly(unit: str) -> None:
    text = _text(unit)
    assert not re.search(r"\w_next\b", text)
    processes = re.findall(r"^  always_ff .*?(?:;|^  end)$", text, re.M | re.S)
    assert len(processes) == text.count("always_ff") > 0
    assert not any(re.search(r"[\w\]}] = ", process) for process in processes)


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_lines_are_short(unit: str) -> None:
    lines = _text(unit).splitlines()
    long = [line for line in lines if len(line) > 100 and "lint_off" not in line]
    assert long == []


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_shifts_are_by_signals(unit: str) -> None:
    """Shifts by a constant are slices, and the operand of a shift is not widened first."""
    text = _text(unit)
    assert re.findall(r".*(?:<<|>>) *\d+'.*", text) == []
    assert re.findall(r".*\} (?:<<|>>).*", text) == []


def test_an_assignment_to_parts_is_several() -> None:
    parts = "{x[7:4], x[1]} = {a[5:2], 1'h0};"
    whole = "{x[7:4], x[1]} = {x[5:2], 1'h0};"
    for text, count in ((parts, 2), (whole, 1)):
        [process] = items(f"  always_comb begin\n    {text}\n  end\n")
        assert written(process).count(" = ") == count


def test_constant_bits_are_set_with_the_others() -> None:
    constant, other, alone = (
        f"  always_comb begin\n    {text}\n  end\n"
        for text in ("x[3] = 1'h1;", "x[2] = 1'h0;\n    if (bit) x[2] = 1'h1;", "y[1] = 1'h0;")
    )
    [both, apart] = with_constant_bits(list(items(constant + alone + other)))[::-1]
    assert written(both).count("x[3] = 1'h1;") == 1
    assert written(both).count("x[2]") == 2
    assert written(apart).count("y[1]") == 1
    reading = other.replace("(bit)", "(x[3])")
    assert len(with_constant_bits(list(items(constant + reading)))) == 2


def test_registers_under_one_condition_share_a_process() -> None:
    body = _text("m3xu").partition("module m3xu_step_control (")[2].partition("endmodule")[0]
    assert body.count("always_ff") == 1
    assert re.search(
        r"if \(rst\) begin\n      active <= 1'h0;.*end else if \(advance\)", body, re.S
    )


@pytest.mark.long
def test_an_array_of_any_size_is_a_loop() -> None:
    small, large = _text("m3xu", rows=4, cols=4), _text("m3xu", rows=16, cols=16)
    assert "for (genvar row = 0; row < 16; row++) begin : dot_product" in large
    assert len(large) <= 1.05 * len(small)


def _expression(text: str) -> Node:
    tokens = Tokens(text)
    expression = tokens.expression()
    assert not tokens.next
    return expression


SCOPE: Scope = {
    "a": (8, False),
    "b": (8, False),
    "s": (8, True),
    "bit": (1, False),
    "m": (-4, False),
}


@pytest.mark.parametrize(
    "text",
    [
        "a + b - a",
        "(a - b) & ~(|a)",
        "bit ? a : (bit & a[3]) ? b : s",
        "{a, {4{bit}}, 2'h1}",
        "$signed(a) >= $signed(s)",
        "~(bit | (a == b))",
        "m[a[1:0]] << 3'h2",
        "a[2 * bit +: 4]",
    ],
)
def test_an_expression_is_written_as_it_was_read(text: str) -> None:
    first = _expression(text)
    assert _expression(str(first)) == first


@pytest.mark.parametrize(
    ("text", "bits", "sign"),
    [
        ("a + s", 8, False),
        ("$signed(a) + s", 8, True),
        ("{a, s}", 16, False),
        ("a == s", 1, False),
        ("bit ? a : bit", 8, False),
        ("|a", 1, False),
        ("m[a]", 4, False),
        ("a[5:2] * 7'h3", 7, False),
        ("bit << a", 1, False),
        ("{3{a[1:0]}}", 6, False),
    ],
)
def test_width_and_sign(text: str, bits: int, sign: bool) -> None:
    expression = _expression(text)
    assert (width(expression, SCOPE), signed(expression, SCOPE)) == (bits, sign)


def _inlined(body: str) -> list[str]:
    scope = {**SCOPE, "w": (8, False), "x": (16, False), "o": (8, False), "v": (1, False)}
    read = with_expressions(list(items(body)), {"w", "v"}, scope, {"w"})
    return [written(item).strip() for item in read]


def test_what_is_used_once_or_is_short_is_written_there() -> None:
    assert _inlined("  assign w = a & b;\n  assign o = w | s;\n") == ["assign o = (a & b) | s;"]
    assert _inlined("  assign w = a + b;\n  assign x = {w, a};\n") == ["assign x = {a + b, a};"]
    assert _inlined("  assign v = |a[3];\n  assign o = {4{v, v}};\n") == [
        "assign o = {4{a[3], a[3]}};"
    ]
    assert _inlined("  assign v = a < b;\n  assign o = {8{v}};\n  assign bit = v;\n") == [
        "assign o = {8{a < b}};",
        "assign bit = a < b;",
    ]


def test_a_choice_with_a_constant_bit_is_none() -> None:
    for choice, simple in (
        ("bit ? 1'h1 : a[0]", "bit | a[0]"),
        ("bit ? a[0] : 1'h1", "~bit | a[0]"),
        ("(a == b) ? 1'h0 : a[0]", "(a != b) & a[0]"),
        ("{bit ? a[0] : 1'h0, bit}", "{bit & a[0], bit}"),
        ("bit ? 1'h1 : 1'h0", "bit ? 1'h1 : 1'h0"),  # perhaps values with names
    ):
        assert _inlined(f"  assign bit = {choice};\n") == [f"assign bit = {simple};"]
    # An operand of a sum is left as it is: it is extended, and an inversion would invert that too.
    assert _inlined("  assign o = b + (bit ? 1'h0 : a[0]);\n") == [
        "assign o = b + (bit ? 1'h0 : a[0]);"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "  assign w = a + b;\n  assign x = w;",  # the carry would appear
        "  assign w = a - b;\n  assign x = w * a;",
        "  assign w = $signed(a) - $signed(s);\n  assign o = w >> a;",  # signed in an operation
        "  assign w = bit;\n  assign o = ~w;",  # narrower than the signal
        "  assign w = a & b;\n  assign o = w ^ (w + a);",  # used twice, and named
        "  assign w = a & b;\n  assign v = w[3];\n  assign bit = v & o[w[1:0]];",  # parts of it
        "  assign w = a ^ w;\n  assign o = w;",  # a loop
        "  assign w = a ^ x[15:8];\n  always_comb begin\n    if (bit) x[7:0] = w;\n  end",
    ],
)
def test_what_would_change_the_meaning_stays(body: str) -> None:
    assert any(re.match(r"assign w = ", line) for line in _inlined(body + "\n"))


class Halves(wiring.Component):
    """The lower half of a vector is made from the upper one, under conditions."""

    def __init__(self) -> None:
        super().__init__({"i": In(4), "s": In(2), "o": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        both = Signal(data.ArrayLayout(4, 2))
        for k, source in enumerate((both[1], self.i)):
            with m.If(self.s == 1):
                m.d.comb += both[k].eq(source)
            with m.Elif(self.s == 2):
                m.d.comb += both[k].eq(~source)
        m.d.comb += self.o.eq(both)
        return m


def test_a_vector_made_from_itself() -> None:
    """Refused, because in Verilog the process would read the upper half before it is written."""
    message = "^bits of signal `o` depend on other bits of it under conditions: make them signals"
    with pytest.raises(ValueError, match=message):
        emit_component(Halves(), name="halves")


def test_a_bit_that_a_signal_chooses_is_an_index() -> None:
    body = "  assign s = x >> i[2:0];\n  assign o = s[0] & a;\n"
    widths = {"s": 8, "x": 8, "i": 4, "o": 1, "a": 1}
    assert indexed_bits(body, widths) == ["s"]
    assert with_indices(body, ["s"]) == "  assign s = x[i[2:0]];\n  assign o = s & a;\n"
    # Not all of what may be chosen is there; more than a bit of it is used.
    assert indexed_bits(body, widths | {"x": 7}) == []
    assert indexed_bits(body.replace("s[0]", "s[1]"), widths) == []
    assert indexed_bits(body + "  assign t = s;\n", widths) == []


class _Window(wiring.Component):
    """Bits from a place on that a signal says; some of a structure under a condition, others not;
    and a memory with two ports to write."""

    def __init__(self) -> None:
        part = data.StructLayout({"low": 4, "bit": 1, "same": 16})
        super().__init__({"i": In(16), "place": In(3), "take": In(1), "o": Out(part)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=4, depth=8, init=[])
        for enable, word in ((self.take, self.i[:4]), (self.i[15], self.i[4:8])):
            port = words.write_port()
            m.d.comb += [port.en.eq(enable), port.addr.eq(self.place), port.data.eq(word)]
        read = words.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(self.place),
            self.o.bit.eq(self.i.bit_select(self.place, 1)),
            self.o.same.eq(self.i),
        ]
        with m.If(self.take):
            m.d.comb += self.o.low.eq(self.i.word_select(self.place[:2], 4))
        with m.Elif(self.i[0]):
            m.d.comb += self.o.low.eq(read.data)
        return m


@pytest.mark.parametrize("tool", FRONT_ENDS)
def test_windows_structures_and_ports_of_memories(tool: str, tmp_path: Path) -> None:
    text = emit_component(_Window(), name="window").verilog
    assert complaints(tool, text, "window", tmp_path) == ""
    assert len(re.findall(r"always_ff", text)) == 1


class _Source(wiring.Component):
    """A register as a stream."""

    def __init__(self) -> None:
        super().__init__({"i": In(8), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [self.o.payload.eq(self.i), self.o.valid.eq(self.i[0])]
        return m


class _Gathered(wiring.Component):
    """Ports of the module that instances drive, and a signal of bits of theirs."""

    def __init__(self) -> None:
        streams = Out(stream.Signature(8)).array(3)
        super().__init__({"i": In(8), "o": streams, "all": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valids = Signal(3)
        for number, port in enumerate(self.o):
            m.submodules[f"source_{number}"] = source = _Source()
            wiring.connect(m, source.o, wiring.flipped(port))
            m.d.comb += [source.i.eq(self.i), valids[number].eq(port.valid)]
        m.d.comb += self.all.eq(valids.all())
        return m


@pytest.mark.parametrize("tool", FRONT_ENDS)
def test_ports_that_are_gathered_stay_ports(tool: str, tmp_path: Path) -> None:
    emitted = emit_component(_Gathered(), name="gathered")
    for number in range(3):
        assert f"  output logic o__{number}__valid," in emitted.verilog
    assert complaints(tool, emitted.verilog, "gathered", tmp_path) == ""


class _LowParts(wiring.Component):
    """Enough instances for a loop, each with the same part of a separate signal."""

    def __init__(self) -> None:
        super().__init__({"i": In(12).array(8), "o": Out(stream.Signature(8)).array(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, (word, port) in enumerate(zip(self.i, self.o, strict=True)):
            m.submodules[f"source_{number}"] = source = _Source()
            wiring.connect(m, source.o, wiring.flipped(port))
            m.d.comb += source.i.eq(word[:8])
        return m


@pytest.mark.parametrize("tool", FRONT_ENDS)
def test_the_same_part_of_several_signals(tool: str, tmp_path: Path) -> None:
    text = emit_component(_LowParts(), name="low_parts").verilog
    assert all(f"i__{number}[7:0]" in text for number in range(8))
    assert complaints(tool, text, "low_parts", tmp_path) == ""
