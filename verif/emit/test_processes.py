"""Combinational processes: what becomes an assignment, and what those that stay read."""

import re

import pytest
from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.emit.verilog.choices import with_choices, with_last_branches
from tilewright.hw.emit.verilog.expressions import Scope
from tilewright.hw.emit.verilog.selects import Names, with_selects
from tilewright.hw.emit.verilog.simplifications import with_few_branches
from tilewright.hw.emit.verilog.statements import items, written
from tilewright.verif.emit.components import Steps, Tables
from tilewright.verif.kit.options import EVERY_UNIT, emitted_unit

pytestmark = pytest.mark.quick

SCOPE: Scope = {
    **dict.fromkeys(("a", "b", "x", "long"), (8, False)),
    **dict.fromkeys(("p", "q", "r", "bit"), (1, False)),
    "s": (8, True),
    "two": (2, False),
}


def _process(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"  always_comb begin\n{lines}  end\n"


def _chosen(body: str) -> list[str]:
    made = with_choices(with_few_branches(list(items(_process(body)))), SCOPE, {"long"})
    return [line.strip() for item in made for line in written(item).splitlines()]


@pytest.mark.parametrize(
    ("body", "assignments"),
    [
        ("if (p) x = a; else x = b;", ["x = p ? a : b"]),
        ("if (~p) x = a; else x = b;", ["x = p ? b : a"]),
        ("x = b;\nif (p) x = a;", ["x = p ? a : b"]),
        ("bit = r;\nif (p) bit = a[0];\nif (q) bit = a[1];", ["bit = q ? a[1] : p ? a[0] : r"]),
        ("bit = 1'h0;\nif (p) bit = 1'h1;", ["bit = p"]),
        ("bit = 1'h0;\nif (p) bit = q;", ["bit = p & q"]),
        ("bit = q;\nif (p) bit = 1'h1;", ["bit = p | q"]),
        ("bit = q;\nif (p) bit = 1'h0;", ["bit = ~p & q"]),
        ("if (p) bit = a[0]; else begin if (q) bit = r; else bit = a[0]; end",
         ["bit = p ? a[0] : q ? r : a[0]"]),
        ("if (p) begin if (q) bit = r; else bit = a[0]; end else bit = a[1];",
         ["bit = ~p ? a[1] : q ? r : a[0]"]),
        ("case (p)\n1'h0: x = a;\n1'h1: x = b;\nendcase", ["x = p ? b : a"]),
        # Parts of it, together where both sides go on.
        ("x = 8'hf0;\nif (p) begin x[7:4] = a[3:0]; x[3:0] = b[7:4]; end",
         ["x[7:4] = p ? a[3:0] : 4'hf", "x[3:0] = p ? b[7:4] : 4'h0"]),
        ("x = b;\nif (p) begin x[7:4] = a[7:4]; x[3:0] = a[3:0]; end", ["x = p ? a : b"]),
        ("long = b;\nif (p) begin long[7:4] = a[7:4]; long[3:0] = a[3:0]; end",
         ["long[7:4] = p ? a[7:4] : b[7:4]", "long[3:0] = p ? a[3:0] : b[3:0]"]),
        # Signs do not matter if all widths are equal.
        ("x = b;\nif (p) x = $signed(a) - s;", ["x = p ? (a - s) : b"]),
    ],
)  # fmt: skip
def test_a_choice_is_an_assignment(body: str, assignments: list[str]) -> None:
    assert _chosen(body) == [f"assign {text};" for text in assignments]


@pytest.mark.parametrize(
    "body",
    [
        "case (two)\n2'h0: x = a;\ndefault: x = b;\nendcase",
        "x = 8'h0;\nif (p) x = a;\nif (q) x = b;",  # two of vectors
        "if (p) begin if (q) x = a; else x = b; end else begin if (r) x = s; else x = 8'h2; end",
        "x = b;\nif (p) x = $signed(a[3:0]) - s;",  # a sign that counts
        "x = b;\nif (p) x[3:0] = a + b;",  # a carry
        "x = b;\nif (p) x[two] = q;",
    ],
)
def test_what_is_more_stays_a_process(body: str) -> None:
    assert _chosen(body)[0] == "always_comb begin"


def test_branches_that_do_the_same_are_one() -> None:
    body = "x = a;\ncase (two)\n2'h0: x = b;\n2'h1: x = s;\n2'h3: x = b;\nendcase"
    [process] = with_few_branches(list(items(_process(body))))
    assert "      2'h0, 2'h3: x = b;\n" in written(process)
    every = body.replace("2'h3: x = b;", "2'h2: x = b;\n2'h3: x = b;").replace("x = s", "x = b")
    [process] = with_few_branches(list(items(_process(every))))
    assert "case" not in written(process)


@pytest.mark.parametrize(
    ("parts", "assignments"),
    [
        (("a[3:0]",), ["a_3_0 = a[3:0]"]),
        (("a[3]",), ["a_3 = a[3]"]),
        (("a[3:0]", "a[7:4]"), ["{a_high, a_low} = a"]),
        (("a[1:0]", "a[5:4]"), ["a_2 = a[5:4]", "a_0 = a[1:0]"]),
        (("a[5:4]", "a[4:2]"), ["a_5_4 = a[5:4]", "a_4_2 = a[4:2]"]),
        (("a[7:1]",), ["upper = a[7:1]"]),
        (("b[7:1]",), ["known = b[7:1]"]),
    ],
)
def test_parts_that_a_process_reads_have_names(
    parts: tuple[str, ...], assignments: list[str]
) -> None:
    body = "case (two)\n" + "".join(f"2'h{n}: x = {part};\n" for n, part in enumerate(parts))
    text = _process(body + "default: x = 8'h0;\nendcase") + "  assign known = b[7:1];\n"
    scope = {**SCOPE, "known": (7, False)}
    made, declared = with_selects(list(items(text)), scope, Names({("a", 7, 1): "upper"}, {}))
    lines = [written(item) for item in made]
    process = next(line for line in lines if "always_comb" in line)
    assert not re.search(r"\w\[", process)
    assert [line for line in lines if "assign" in line] == [
        f"  assign {text};" for text in [*dict.fromkeys([*assignments, "known = b[7:1]"])]
    ]
    assert all(re.search(rf"\b{name}\b", process) for name in declared)


ENTRY = data.StructLayout({"row": 4, "code": 3})


class Chosen(wiring.Component):
    """Reads parts of structures and of elements in a process that stays one."""

    def __init__(self) -> None:
        super().__init__(
            {"i": In(data.ArrayLayout(ENTRY, 3)), "at": In(ENTRY), "o": Out(4), "half": Out(8)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(2, name="place")
        m.d.comb += place.eq(self.at.row[1:3])
        with m.Switch(place):
            for n in range(3):
                with m.Case(n):
                    m.d.comb += [self.o.eq(self.i[n].row), self.half.eq(self.at.code)]
            with m.Default():
                m.d.comb += self.o.eq(Mux(self.at.code[0], 3, Cat(self.at.code, 1)))
                m.d.comb += self.half.eq(Array([self.i[0].code, self.i[1].code])[self.at.row[0]])
        return m


def test_parts_are_named_after_fields_and_elements() -> None:
    text = emit_component(Chosen(), name="chosen").verilog
    assert "  assign place = at[2:1];\n" in text
    assert "    case (place)\n" in text
    assert "  assign i_2_row = i[17:14];\n" in text
    assert "      2'h2: o = i_2_row;\n" in text


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_no_process_reads_a_part_of_a_signal(unit: str) -> None:
    text = emitted_unit(unit).verilog
    processes = re.findall(r"^  always_comb begin\n(.*?)^  end$", text, re.M | re.S)
    read = [re.sub(r"[\w.\[\]:]+ = ", "", process) for process in processes]
    assert [line for process in read for line in re.findall(r".*\w(?:\[\d|\.\w).*", process)] == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("x = a;\nif (p) x = b;", ["if (p) x = b;", "else x = a;"]),
        ("x = a;\nif (p) x = b;\nif (q) x = s;",
         ["if (q) x = s;", "else if (p) x = b;", "else x = a;"]),
        ("x = a;\ncase (two)\n2'h0: x = b;\n2'h2: x = s;\nendcase",
         ["case (two)", "2'h0: x = b;", "2'h2: x = s;", "default: x = a;", "endcase"]),
        ("x = a;\nif (p) x[0] = q;", ["x = a;", "if (p) x[0] = q;"]),
        ("x = a;\nif (p) x = b;\ncase (two)\n2'h0: x = b;\ndefault: ;\nendcase",
         ["x = a;", "if (p) x = b;", "case (two)", "2'h0: x = b;", "default: ;", "endcase"]),
    ],
)  # fmt: skip
def test_a_process_sets_a_signal_once(body: str, lines: list[str]) -> None:
    [process] = with_last_branches(list(items(_process(body))))
    assert [line.strip() for line in written(process).splitlines()[1:-1]] == lines


# The emitted text omits computations that have a constant or trivial result.


def _body(component: wiring.Component) -> str:
    return emit_component(component, name="unit").verilog.partition(");\n")[2]


def test_constants_decide() -> None:
    assert not re.search(r" [&|?] |<<", _body(Tables()))


def test_nothing_is_added_that_is_nothing() -> None:
    """Omits additions of zero and of bits beyond the result, but keeps subtractions from zero."""
    body = _body(Steps())
    assert re.findall(r"[+-] \d+'h0+\b|\b\d+'h0+ \+", body) == []
    assert "  assign place = i[3:0] + 4'h3;\n" in body
    assert "behind <= i[3:0];\n" in body
    assert re.search(r"assign less = 6'h0+ - ", body)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("if (p) x = a;\nif (q) a = b;\nif (p) b = s;",
         ["if (q) a = b;", "if (p) begin", "x = a;", "b = s;", "end"]),
        ("if (p) x = a;\nelse b = s;\nif (p) b = s;\nelse x = s;",
         ["if (p) begin", "x = a;", "b = s;", "end else begin", "b = s;", "x = s;", "end"]),
        ("if (p) x = a;\nif (q) x[0] = r;\nif (p) b = s;",
         ["if (p) x = a;", "if (q) x[0] = r;", "if (p) b = s;"]),
        ("if (p) x = a;\nif (p) x[0] = r;\nif (p) b = s;",
         ["if (p) begin", "x = a;", "x[0] = r;", "b = s;", "end"]),
    ],
)  # fmt: skip
def test_branches_under_one_condition_are_one(body: str, lines: list[str]) -> None:
    [process] = with_few_branches(list(items(_process(body))))
    assert [line.strip() for line in written(process).splitlines()[1:-1]] == lines
