"""The emitted text has comments, and names instead of bare numbers."""

import inspect
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.blocks import comment_of, name_at
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.emit.components import Machine
from tilewright.verif.kit.front_ends import run_yosys
from tilewright.verif.kit.options import EVERY_UNIT, emitted_unit

MOST_VARIANTS = 0.05
"""The part of a unit's lines that modules may have that differ by numbers alone."""

MORE_VARIANTS = {"gta_separate": 0.065}
"""Units with more: alignment of a few formats takes another number of steps in each."""


MOST_TOOL_MADE = 0.1
"""The part of a unit's signals, without ports, whose names may say nothing of the value."""

TOOL_MADE = re.compile(
    r"(add|sub|mul|neg|not|and|or|xor|xnor|eq|ne|lt|le|gt|ge|shl|shr|sshl|sshr|shift|shiftx|mux|pmux"
    r"|divfloor|modfloor|reduce_\w+|logic_\w+|mem\w*|select|register|following|_)_\d+"
    r"|\w+_term(_\d+)?"
)
"""Names after an operation, or after the signal that a value is some term of."""


class Inverter(wiring.Component):
    """Inverts :class:`Wire` and ``o.x``
    without delay. Has no state.

    Source: Shannon, A Symbolic Analysis of Relay
    and Switching Circuits; the symbols are ours.
    """

    def __init__(self) -> None:
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


class Inherited(Inverter):
    __doc__ = None


class Plain(wiring.Component):
    i: In(1)  # type: ignore[valid-type]


SHANNON = "Source: Shannon, A Symbolic Analysis of Relay and Switching Circuits."


@pytest.mark.parametrize(
    ("kind", "source", "comment"),
    [
        (Inverter, "", ["Inverts Wire and o.x without delay.", SHANNON]),
        (Inherited, "elsewhere", ["Inverts Wire and o.x without delay.", SHANNON]),
        (Plain, "Here, section 2", ["Source: Here, section 2."]),
        (Plain, "", []),
    ],
)
def test_a_comment_says_what_a_component_is(
    kind: type[wiring.Component], source: str, comment: list[str]
) -> None:
    component = kind()
    component._MustUse__silence = True
    assert list(comment_of(component, source)) == comment


def test_the_comment_stands_above_the_module() -> None:
    text = emit_component(Inverter(), name="inverter").verilog
    assert f"\n// Inverts Wire and o.x without delay.\n// {SHANNON}\nmodule inverter (\n" in text


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_every_module_says_what_it_is_and_the_unit_whence(unit: str) -> None:
    text = emitted_unit(unit).verilog
    bare = re.findall(r"(?:^|\n)(?!// ).*\nmodule (\w+)", text)
    assert bare == []
    assert re.search(rf"^// Source: .*\n(?:// .*\n)*module {unit} \(", text, re.M)


def _emitted(body: Callable[[Module, dict[str, Signal]], None], **ports: wiring.Member) -> str:
    """The text of a component with these ports."""

    class Example(wiring.Component):
        def __init__(self) -> None:
            super().__init__(ports)

        def elaborate(self, platform: object) -> Module:
            m = Module()
            body(m, {name: getattr(self, name) for name in ports})
            return m

    return emit_component(Example(), name="example").verilog


def test_a_shift_by_a_constant_is_a_choice_of_bits() -> None:
    def body(m: Module, ports: dict[str, Signal]) -> None:
        m.d.comb += ports["o"].eq(Mux(ports["move"], ports["i"] << Const(4, 3), ports["i"]))

    text = _emitted(body, i=In(8), move=In(1), o=Out(8))
    assert "  assign o = move ? {i[3:0], 4'h0} : i;\n" in text
    assert "<<" not in text


def test_no_branch_is_empty() -> None:
    def body(m: Module, ports: dict[str, Signal]) -> None:
        i, o = ports["i"], ports["o"]
        with m.If(i[0]):
            pass
        with m.Elif(i[1]):
            m.d.comb += ports["p"].eq(1)
        with m.If(i[0]):
            pass
        with m.Elif(i[1]):
            m.d.sync += o.eq(1)
        with m.Elif(i[2]):
            m.d.sync += o.eq(0)

    text = _emitted(body, i=In(3), o=Out(1), p=Out(1))
    assert "  assign p = ~i[0] & i[1];\n" in text
    assert re.search(r"if \(~i\[0\]\) begin\n +if \(i\[1\]\)[^\n]*\n +else if \(i\[2\]\)", text)


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_nothing_that_a_person_would_not_write(unit: str) -> None:
    text = emitted_unit(unit).verilog
    assert not re.search(r"\bbegin\s+end\b", text)
    assert not re.search(r"<< \d+'", text)
    assert not re.search(r"(\w+\[\d+\]), \1, \1", text)
    assert not re.search(r"\{\d+\{(\w+)\[(\d+)\]\}\}, \1\[\2:", text)


def test_registers_without_a_name_get_one() -> None:
    def body(m: Module, ports: dict[str, Signal]) -> None:
        m.d.comb += ports["o"][0].eq(ports["i"])
        with m.If(ports["i"]):
            m.d.sync += ports["o"][1].eq(~ports["o"][1])

    module = _emitted(body, i=In(1), o=Out(2))
    name = re.search(r"assign o = \{(\w+), i\};", module)
    assert name
    assert f"if (i) {name[1]} <= ~{name[1]};" in module


class Counted(wiring.Component):
    """Reads a table at a place that it counts, and says which that is."""

    def __init__(self) -> None:
        super().__init__({"step": In(1), "o": Out(8), "half": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = Memory(shape=8, depth=8, init=range(8))
        count = table.read_port(domain="comb")
        position = Signal(3)
        m.d.comb += [
            count.addr.eq(position),
            self.o.eq(count.data),
            self.half.eq(position[:2]),
        ]
        with m.If(self.step):
            m.d.sync += position.eq(position + 1)
        return m


def test_a_register_is_not_named_after_what_it_drives() -> None:
    text = emit_component(Counted(), name="counted").verilog
    assert "position <= position + 3'h1" in text
    assert "__addr" not in text


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_no_counter_has_the_name_of_a_port(unit: str) -> None:
    assert not re.findall(r"^ .*__addr <= .*", emitted_unit(unit).verilog, re.M)


def test_states_have_names() -> None:
    text = emit_component(Machine(), name="machine").verilog
    assert "  typedef enum logic {IDLE = 1'h0, RUN = 1'h1} control_state_t;\n" in text
    assert "  control_state_t control_state;\n" in text
    assert "  assign busy = control_state == RUN;\n" in text
    assert re.search(r"if \(rst\) control_state <= IDLE;|control_state <= IDLE;", text)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["engine_simd2"])
def test_states_of_a_job_have_names(unit: str) -> None:
    text = emitted_unit(unit).verilog
    states = text.partition(f"module {unit}_job_states (")[2].partition("endmodule")[0]
    values = "{IDLE = 2'h0, CHECK = 2'h1, RUN = 2'h2, STOP = 2'h3}"
    assert f"  typedef enum logic [1:0] {values} job_state_t;\n" in states
    assert "  job_state_t job_state;\n" in states
    assert "case (job_state)" in states
    assert re.findall(r"job_state <=? (?![A-Z]+;)", states) == []


class Way(enum.Enum, shape=2):  # type: ignore[call-arg]
    AHEAD = 0
    LEFT = 1
    BACK = 2


def test_enumerations_need_no_casts() -> None:
    def body(m: Module, ports: dict[str, Signal]) -> None:
        chosen, read = Signal(Way, name="chosen"), Signal(Way, name="read")
        m.d.sync += chosen.eq(Mux(ports["i"][0], Way.LEFT, Way.BACK))
        m.d.sync += read.eq(ports["i"])
        with m.If(chosen == Way.AHEAD):
            m.d.sync += ports["shown"].eq(Way.LEFT)
        m.d.comb += [ports["o"].eq(chosen == Way.LEFT), ports["same"].eq(read == Way.BACK)]

    text = _emitted(body, i=In(2), o=Out(1), shown=Out(Way), same=Out(1))
    assert "  typedef enum logic [1:0] {AHEAD = 2'h0, LEFT = 2'h1, BACK = 2'h2} chosen_t;\n" in text
    assert "  chosen_t chosen;\n" in text
    assert "localparam" not in text
    assert re.search(r"  output logic \[1:0\] shown\b", text)
    assert re.search(r"  logic \[1:0\] read\b", text)


def test_registers_and_texts_have_names() -> None:
    text = emitted_unit("c2sr_converter").verilog
    registers = text.partition("_axi_lite_registers (")[2].partition("endmodule")[0]
    assert "localparam logic [6:0] ID = 7'h0, VERSION = 7'h1, CONFIG0 = 7'h2," in registers
    assert " ID_TWCV = 32'h56435754;\n" in registers
    assert "      ID: read_value = ID_TWCV;\n" in registers
    assert "      VERSION: read_value = VERSION_VALUE;\n" in registers
    assert " VERSION_VALUE = 32'h10002," in registers
    assert "      r__payload.response <= readable ? OKAY : SLVERR;\n" in registers
    assert "      b__payload <= hit ? OKAY : SLVERR;\n" in registers
    assert re.findall(r"^ +\w+: read_value = \d+'\w[^0].*", registers, re.M) == []
    assert "  assign {cycles_high, cycles_low} = cycles;\n" in registers
    assert "      CYCLES_HIGH: read_value = {16'h0, cycles_high};\n" in registers
    assert re.findall(r"^ +7'h\w+: .*| [!=]= 7'h.*", registers, re.M) == []


@pytest.mark.slow
def test_errors_have_names() -> None:
    text = emitted_unit("matraptor").verilog
    control = text.partition("module matraptor_control (")[2].partition("endmodule")[0]
    assert "  localparam logic [7:0] NONE = 8'h0, ZERO_SIZE = 8'h1, MISALIGNED_BASE" in control
    assert re.search(r"if \(.*\) wrong_0_code = ZERO_SIZE;", control)
    assert re.findall(r"\w*code\w* (?:<?=|[!=]=) 8'h.*", text) == []
    assert "      failure.code = UNSORTED;\n" in text


def test_one_name_never_means_two_values() -> None:
    class Way(enum.Enum, shape=2):  # type: ignore[call-arg]
        AHEAD = 0
        LEFT = 1

    class Turn(enum.Enum, shape=2):  # type: ignore[call-arg]
        AHEAD = 0
        LEFT = 2
        RIGHT = 3

    def body(m: Module, ports: dict[str, Signal]) -> None:
        way, turn = Signal(Way, name="way"), Signal(Turn, name="turn")
        again = Signal(Way, name="again")
        m.d.sync += [way.eq(ports["i"][:2]), again.eq(way), turn.eq(ports["i"][2:])]
        for place, (value, member) in enumerate(
            [(way, Way.LEFT), (again, Way.LEFT), (turn, Turn.LEFT), (turn, Turn.RIGHT)]
        ):
            m.d.comb += ports["o"][place].eq(value == member)

    text = _emitted(body, i=In(4), o=Out(4))
    declared = "AHEAD = 2'h0, AGAIN_LEFT = 2'h1, WAY_LEFT = 2'h1, LEFT = 2'h2,\n    RIGHT = 2'h3"
    assert f"  localparam logic [1:0] {declared};\n" in text
    comparisons = "turn == RIGHT, turn == LEFT, again == AGAIN_LEFT, way == WAY_LEFT"
    assert f"  assign o = {{{comparisons}}};\n" in text


ENTRY = data.StructLayout({"column": 6, "value": signed(4), "end": 1})
BEAT = data.StructLayout({"words": data.ArrayLayout(5, 3), "first": ENTRY, "count": 2})


class Fields(wiring.Component):
    """Takes structures apart and makes some, in parts, as a whole, under conditions."""

    def __init__(self) -> None:
        super().__init__({"i": In(BEAT), "o": Out(BEAT), "flat": Out(30), "entry": Out(ENTRY)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, kept, o = self.i, Signal(BEAT, name="kept"), self.o
        with m.If(i.count[1]):
            m.d.sync += kept.eq(i)
        with m.If(i.first.end):
            m.d.sync += [kept.words[1].eq(i.words[2]), kept.first.column[2:5].eq(i.words[0])]
        with m.If(i.count[0]):
            m.d.comb += [self.entry.value.eq(kept.count), self.entry.column[2:4].eq(i.count)]
        m.d.comb += [
            o.words[0].eq(i.words[1] ^ kept.words[1]),
            o.words[1].eq(~kept.words[2]),
            o.words[2].eq(i.as_value()[12:17]),
            o.first.eq(kept.first),
            o.count.eq(kept.count - i.count),
            self.flat.eq(Cat(i.first.column, kept.first.value, i.as_value()[8:20])),
            self.entry.end.eq(kept.first.end),
        ]
        return m


class Structured(wiring.Component):
    """A part with structured ports within a module whose ports are vectors."""

    def __init__(self) -> None:
        super().__init__({"i": In(BEAT), "o": Out(BEAT), "flat": Out(30), "entry": Out(ENTRY)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = Fields()
        m.d.comb += [part.i.eq(self.i), self.o.eq(part.o), self.flat.eq(part.flat)]
        m.d.comb += self.entry.eq(part.o.first)
        return m


def test_fields_have_names() -> None:
    text = emit_component(Structured(), name="structured").verilog
    assert (
        "typedef struct packed {logic [1:0] count; logic first_end; logic [3:0] first_value;\n"
        "  logic [5:0] first_column; logic [14:0] words;} structured_beat_t;\n"
    ) in text
    top, part = text.split("\nmodule ")[1:]
    fields = "{count [27:26], first_end [25], first_value [24:21], ...}"
    assert f"  input  logic [27:0] i, // {fields}\n" in top
    assert "  assign entry = o[25:15];\n" in top
    assert "  input  structured_beat_t i,\n" in part
    assert "      if (i.first_end) begin\n" in part
    assert "kept.words[9:5] <= i.words[14:10];" in part
    assert "kept.first_column[4:2] <= i.words[2:0];" in part
    assert "  assign entry.column[3:2] = i.count[0] ? i.count : 2'h0;\n" in part
    assert "assign flat = {8'h0, i[19:8], kept.first_value, i.first_column};" in part


@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")
def test_a_simulator_and_a_synthesiser_agree_on_fields(tmp_path: Path) -> None:
    """Icarus, on the text, and on what yosys makes of it."""
    text = emit_component(Structured(), name="structured").verilog
    (tmp_path / "unit.v").write_text(text)
    script = "read_verilog -sv unit.v; hierarchy -top structured; proc; flatten"
    run_yosys(f"{script}; rename structured plain; write_verilog -noattr plain.v", tmp_path)
    ports = {"o": 28, "flat": 30, "entry": 11}
    wires = "".join(f"logic [{n - 1}:0] {p}_1, {p}_2; " for p, n in ports.items())
    pins = [", ".join(f".{p}({p}_{k})" for p in ports) for k in (1, 2)]
    compared = [f"{{{', '.join(f'{p}_{k}' for p in ports)}}}" for k in (1, 2)]
    (tmp_path / "bench.v").write_text(f"""
        module bench;
          logic clk = 0, rst = 1;
          logic [27:0] i;
          int wrong = 0;
          {wires}
          structured first (.clk(clk), .rst(rst), .i(i), {pins[0]});
          plain second (.clk(clk), .rst(rst), .i(i), {pins[1]});
          initial begin
            for (int n = 0; n < 500; n++) begin
              rst = n == 0;
              i = $random;
              #1 if (n > 0 && {compared[0]} !== {compared[1]}) wrong++;
              clk = 1;
              #1 clk = 0;
            end
            $display("%0d wrong, last %h", wrong, {compared[0]});
          end
        endmodule""")
    command = ["iverilog", "-g2012", "-s", "bench", "-o", "bench.vvp"]
    command += ["bench.v", "unit.v", "plain.v"]
    done = subprocess.run(
        command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[:2000]
    done = subprocess.run(
        ["vvp", "-n", "bench.vvp"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert re.fullmatch(r"0 wrong, last [0-9a-f]+\n", done.stdout)


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_structures_are_of_the_unit_and_its_own_ports_are_vectors(unit: str) -> None:
    text = emitted_unit(unit).verilog
    names = re.findall(r"^(?:typedef|  ).*;\} (\w+);$", text, re.M)
    assert all(name.startswith(f"{unit}_") for name in names)
    assert len(set(names)) == len(names) > 0
    assert all(text.count(f" {name} ") > 0 for name in names)
    head = re.search(rf"^module {unit} \(\n(.*?)\n\);", text, re.M | re.S)
    assert head
    assert re.findall(r"^  \w+ +(?!logic )\S+", head[1], re.M) == []


def test_ranges_of_what_is_no_structure_stand_beside_its_declaration() -> None:
    pair = data.StructLayout({"value": 4, "column": 3})

    def body(m: Module, ports: dict[str, Signal]) -> None:
        kept = Signal(pair, name="kept")
        m.d.sync += kept.eq(ports["pairs"][0])
        m.d.comb += ports["o"].eq(Mux(ports["one"].any(), kept, 0))

    pairs, words = data.ArrayLayout(pair, 5), data.ArrayLayout(8, 2)
    long = data.StructLayout({f"a_long_name_of_a_field_{number}": 2 for number in range(5)})
    text = _emitted(body, pairs=In(pairs), words=In(words), long=In(long), one=In(8), o=Out(pair))
    assert "  input  logic [34:0] pairs, // 5 x {column [6:4], value [3:0]}\n" in text
    assert "  input  logic [15:0] words, // 2 x [7:0]\n" in text
    assert "  input  logic [7:0] one,\n" in text
    assert "  output logic [6:0] o // {column [6:4], value [3:0]}\n" in text
    assert "  logic [6:0] kept; // {column [6:4], value [3:0]}\n" in text
    cut = "{a_long_name_of_a_field_4 [9:8], a_long_name_of_a_field_3 [7:6], ...}"
    assert f"  input  logic [9:0] long, // {cut}\n" in text


def _module_texts(text: str) -> dict[str, str]:
    return {m[1]: m[0] for m in re.finditer(r"^module (\w+) .*?^endmodule$", text, re.M | re.S)}


def _without_numbers(module: str) -> str:
    """A module's text without comments, widths, types, constants and the numbers of modules."""
    plain = re.sub(r"//.*", "", module)
    plain = re.sub(r"\b\w+_t\b(?= )|logic \[[^]]+\]", "logic", plain)
    plain = re.sub(r"\b\d+'h[0-9a-f]+|\b\d+\b", "0", plain)
    plain = re.sub(r"_\d+(?= \w+ \(| \()", "", plain)
    names = re.sub(r"logic ([\w,\s]+);", lambda m: " ".join(sorted(re.split(r",\s+", m[1]))), plain)
    return " ".join(names.split())


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_few_lines_are_variants_by_numbers_alone(unit: str) -> None:
    """Modules that differ in nothing but numbers are one module with parameters."""
    text = emitted_unit(unit).verilog
    alike: dict[str, list[str]] = {}
    for module in _module_texts(text).values():
        alike.setdefault(_without_numbers(module), []).append(module)
    variants = [module for group in alike.values() if len(group) > 1 for module in group]
    lines = sum(module.count("\n") + 1 for module in variants)
    most = MORE_VARIANTS.get(unit, MOST_VARIANTS)
    assert lines <= most * text.count("\n"), f"{lines} lines are variants"


def test_queues_of_all_widths_and_depths_are_one_module() -> None:
    text = emitted_unit("c2sr_converter").verilog
    assert "c2sr_converter_output_register #(.WIDTH(" in text
    head = _module_texts(text)["c2sr_converter_output_register"]
    assert "  parameter logic [31:0] WIDTH = " in head
    assert "  input  logic [WIDTH-1:0] i__payload,\n" in head


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_clock_and_reset_come_first_and_streams_last(unit: str) -> None:
    for head in re.findall(r"^module [^;]*?\((.*?)\n\);", emitted_unit(unit).verilog, re.M | re.S):
        ports = re.findall(r"^  (?:input|output) .*?(\w+),?(?: //.*)?$", head, re.M)
        kinds = [
            0 if port == "clk" else 1 if port == "rst" else 3 if port.endswith("__valid") else 2
            for port in ports
            if not port.endswith(("__ready", "__payload"))
        ]
        assert kinds == sorted(kinds), ports


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_no_condition_is_asked_twice_in_a_row(unit: str) -> None:
    for process in re.findall(r"^  always.*?^  end$", emitted_unit(unit).verilog, re.M | re.S):
        asked = re.findall(r"^    (?:end )?(?:else )?if (\(.*\)) \S", process, re.M)
        twice = [one for one, other in pairwise(asked) if one == other]
        assert twice == []


def _signals(text: str) -> list[str]:
    """The names of all signals in the modules of a text, without ports."""
    names: list[str] = []
    for module in re.findall(r"^module .*?^endmodule$", text, re.M | re.S):
        body = module.partition("\n);\n")[2]
        for declared in re.findall(
            r"^  (?:logic|\w+_t)(?: signed)?(?: \[.*?\])? ([^;=]+);", body, re.M
        ):
            names += (re.sub(r"\[.*?\]", "", name).strip() for name in declared.split(","))
    return names


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_signals_have_names_of_people(unit: str) -> None:
    names = _signals(emitted_unit(unit).verilog)
    made = [name for name in names if TOOL_MADE.fullmatch(name)]
    assert len(names) > 20
    assert len(made) <= MOST_TOOL_MADE * len(names), made


class Majority(wiring.Component):
    """Values without signals: of variables, of a keyword, of a function, of parts of a vector."""

    def __init__(self) -> None:
        super().__init__(
            {"a": In(8), "b": In(8), "c": In(8), "o": Out(8), "p": Out(4), "q": Out(8)}
        )

    def _either(self, first: Value, second: Value) -> Value:
        return (first & self.c) | (second ^ self.a) | (first + second)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        carry = (self.a & self.b) | (self.b & self.c) | (self.c & self.a)
        either = self._either(self.a, carry)
        parts = Signal(4)
        m.d.comb += [
            parts.eq(Cat((carry[n] + either[n] + self.a[n]) ^ (self.b > self.c) for n in range(4))),
            self.o.eq(carry ^ either),
            self.p.eq(parts & self.c[:4]),
            self.q.eq(Mux(parts[1], carry, either)),
        ]
        return m


def test_values_are_called_as_in_the_python() -> None:
    text = emit_component(Majority(), name="majority").verilog
    names = _signals(text)
    assert {"carry", "either", "parts"} <= set(names), names
    assert not any(re.fullmatch(r"(and|or|xor|add|gt|mux)_\d+", name) for name in names)
    assert "assign p = parts & c[3:0];" in text  # not the parts that it joins


def test_the_source_names_a_value() -> None:
    source = Path(inspect.getsourcefile(comment_of) or "")
    lines = source.read_text().splitlines()
    for text, name in (
        ("docstring = _docstring(component)", "docstring"),
        ("return type(self)", ""),
        ('first = " ".join(', "first"),
        ("return re.sub(r", "first_sentence"),
    ):
        found = [n for n, line in enumerate(lines, 1) if text in line]
        assert [name_at(str(source), n) for n in found] == [name] * len(found)
    assert name_at(str(source.with_name("missing.py")), 1) == ""
