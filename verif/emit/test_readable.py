"""What a reader finds in the emitted text: comments, and names where there could be numbers."""

import re
from collections.abc import Callable

import pytest
from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.comments import comment_of
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.emit.components import Machine
from tilewright.verif.kit.units import EVERY_UNIT, emitted_unit


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
    assert "if (~i[0] & i[1]) p = 1'h1;\n" in text
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

    text = _emitted(body, i=In(1), o=Out(2))
    assert "if (i) register_1 <= ~register_1;" in text
    assert "assign o = {register_1, i};" in text


def test_states_have_names() -> None:
    text = emit_component(Machine(), name="machine").verilog
    assert "  localparam logic IDLE = 1'h0, RUN = 1'h1;\n" in text
    assert "  assign busy = control_state == RUN;\n" in text
    assert re.search(r"if \(rst\) control_state <= IDLE;|control_state <= IDLE;", text)


@pytest.mark.parametrize("unit", ["engine_simd2"])
def test_states_of_a_job_have_names(unit: str) -> None:
    text = emitted_unit(unit).verilog
    states = text.partition(f"module {unit}_job_states (")[2].partition("endmodule")[0]
    assert "localparam logic [1:0] IDLE = 2'h0, CHECK = 2'h1, RUN = 2'h2, STOP = 2'h3;" in states
    assert "case (job_state)" in states
    assert re.findall(r"job_state <=? (?![A-Z]+;)", states) == []


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
