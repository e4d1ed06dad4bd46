"""The emitted text omits computations that have a constant or trivial result."""

import re

import pytest
from amaranth.lib import wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.emit.components import Steps, Tables

pytestmark = pytest.mark.quick


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
