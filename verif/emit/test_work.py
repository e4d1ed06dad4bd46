"""The emitter does work once: a value that has several uses, a component that has several
instances; and it lets go of what it has done with."""

import subprocess
import sys

import pytest
from amaranth.hdl import Cat, Fragment, Module, Signal
from amaranth.hdl._ir import PortDirection
from tilewright.hw.emit import hierarchy
from tilewright.hw.emit.rtlil.convert import convert, prepare
from tilewright.hw.emit.unit import emit, emit_component
from tilewright.registry import entries
from tilewright.verif.emit.components import Grid
from tilewright.verif.kit.sampling import slow_but

MEGABYTES = 400
"""A bar for the emission of any unit with default parameters."""

OPERATIONS = {"and": 1, "add": 1, "not": 1}


def test_a_value_is_computed_once_for_all_its_uses() -> None:
    a, b, o = Signal(8), Signal(8), Signal(512)
    m = Module()
    both = ~((a + b)[:8] & b)
    m.d.comb += o.eq(both.replicate(64) ^ Cat(both, a))
    way_in, way_out = PortDirection.Input, PortDirection.Output
    ports = {"a": (a, way_in), "b": (b, way_in), "o": (o, way_out)}
    text = convert(prepare(Fragment.get(m, None), ports, "once"), "once")
    assert {kind: text.count(f"cell ${kind} ") for kind in OPERATIONS} == OPERATIONS


def test_a_result_that_is_a_signal_is_its_own() -> None:
    a, b, x, y = (Signal(4, name=name) for name in "abxy")
    m = Module()
    same = a & b
    m.d.comb += [x.eq(same), y.eq(same)]
    ways = {"a": PortDirection.Input, "b": PortDirection.Input}
    ports = {s.name: (s, ways.get(s.name, PortDirection.Output)) for s in (a, b, x, y)}
    text = convert(prepare(Fragment.get(m, None), ports, "own"), "own")
    assert "connect \\Y \\x\n" in text
    assert "connect \\Y \\y\n" in text


@pytest.mark.parametrize("unit", slow_but(["grid"], ["grid", "simd2", "t2s", "gta"], ["grid"]))
def test_equal_components_elaborated_once_or_each(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is the same where only the texts of components are compared."""

    def text() -> str:
        if unit == "grid":
            return emit_component(Grid(3), name="grid").verilog
        entry = entries()[unit]
        return emit(entry.unit, entry.unit.config(**dict(entry.small))).verilog

    once = text()
    monkeypatch.setattr(hierarchy, "_component_key", lambda component: None)
    assert text() == once


@pytest.mark.parametrize("unit", slow_but([], entries(), ["simd2"]))
def test_memory_of_an_emission(unit: str) -> None:
    """The peak is read by the process itself: `ru_maxrss` of a child begins with its parent's."""
    script = f"""from pathlib import Path
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
unit = entries()[{unit!r}].unit
emit(unit, unit.config())
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
    kilobytes = int(subprocess.check_output([sys.executable, "-c", script]).split()[-1])
    assert kilobytes < MEGABYTES * 1024
