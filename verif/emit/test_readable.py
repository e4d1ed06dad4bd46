"""What a reader finds in the emitted text: comments, and names where there could be numbers."""

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.comments import comment_of
from tilewright.hw.emit.unit import emit_component
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
