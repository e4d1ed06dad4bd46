"""The emitter does work once: a value that has several uses, a component that has several
instances; and it lets go of what it has done with.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tilewright
from amaranth.hdl import Cat, Fragment, Module, Signal, unsigned
from amaranth.hdl._ast import Operator, SignalDict
from amaranth.hdl._ir import Design, PortDirection
from tilewright.hw.emit import hierarchy
from tilewright.hw.emit.rtlil.convert import convert, prepare
from tilewright.hw.emit.rtlil.values import quick_values
from tilewright.hw.emit.unit import Emitted, emit, emit_component
from tilewright.hw.spec.config import IntRange
from tilewright.registry import entries
from tilewright.verif.emit.components import Grid, Machine
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.options import OPTIONS, choices, emitted_unit, small
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
    text, _ = convert(prepare(Fragment.get(m, None), ports, "once"), "once")
    assert {kind: text.count(f"cell ${kind} ") for kind in OPERATIONS} == OPERATIONS


def test_an_expression_is_looked_at_once_however_often_it_is_used() -> None:
    a, m = Signal(4), Module()
    own, keys = Operator.shape, SignalDict.items
    with quick_values():
        value = a ^ a
        for _ in range(64):  # Each of its 2 ** 64 paths would be followed.
            value = value ^ value
        m.d.comb += Signal(4).eq(value)
        Fragment.get(m, None)
        assert value.shape() == unsigned(4)
    assert (Operator.shape, SignalDict.items) == (own, keys)


def test_a_result_that_is_a_signal_is_its_own() -> None:
    a, b, x, y = (Signal(4, name=name) for name in "abxy")
    m = Module()
    same = a & b
    m.d.comb += [x.eq(same), y.eq(same)]
    ways = {"a": PortDirection.Input, "b": PortDirection.Input}
    ports = {s.name: (s, ways.get(s.name, PortDirection.Output)) for s in (a, b, x, y)}
    text, _ = convert(prepare(Fragment.get(m, None), ports, "own"), "own")
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


@pytest.mark.parametrize("unit", slow_but(["simd2"], entries(), ["simd2", "c2sr_converter"]))
def test_a_component_is_elaborated_once(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Components with equal arguments, probes of parameters included, are elaborated once."""
    elaborated, keys, key_of = 0, [], hierarchy._component_key

    def counted(*arguments: Any) -> Design:
        nonlocal elaborated
        elaborated += 1
        return prepare(*arguments)

    def kept(component: Any) -> Any:
        keys.append(key_of(component))
        return keys[-1]

    monkeypatch.setattr(hierarchy, "prepare", counted)
    monkeypatch.setattr(hierarchy, "_component_key", kept)
    entry = entries()[unit]
    found = hierarchy.Hierarchy(unit, entry.unit.build(entry.small_config))
    # Nothing is known beforehand of a component whose key is None.
    different = len(set(keys) - {None}) + keys.count(None)
    assert len(found.blocks) + len(found.probes) <= elaborated == different < len(keys)


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


# Emitted modules and signals name the Python lines that define them.

PACKAGE = Path(tilewright.__file__).parent


def line(place: str) -> str:
    """The text of a line that is named by its file and its number."""
    file, _, number = place.rpartition(":")
    return (PACKAGE / file).read_text().splitlines()[int(number) - 1]


def modules(emitted: Emitted) -> list[str]:
    return re.findall(r"^module (\w+)", emitted.verilog, re.M)


def test_every_module_and_its_signals() -> None:
    emitted = emitted_unit("simd2", tile=2, ops=("minplus",))
    assert set(emitted.sources) == set(modules(emitted))
    for module, source in emitted.sources.items():
        words = module.removeprefix("simd2_").rstrip("_0123456789").split("_")
        shown = line(emitted.source(module))
        assert shown.startswith("class ")
        assert "".join(words) in shown.lower()
        assert source.signals
        for signal in source.signals:
            assert line(emitted.source(module, signal)).strip()
    legal = emitted.source("simd2_operation_control", "legal")
    assert legal.startswith("hw/simd2/simd2.py:")
    assert "legal" in line(legal)


def test_what_another_package_makes_is_its_module() -> None:
    """Gives the component's source for a clock, which Amaranth makes, and for an unknown signal."""
    emitted = emit_component(Machine(), name="machine")
    module = emitted.source("machine")
    assert line(module) == "class Machine(wiring.Component):"
    assert emitted.source("machine", "clk") == emitted.source("machine", "none") == module
    assert "table" in line(emitted.source("machine", "table"))
    assert emitted.source("memory_4x8_1r1w", "write_data") == ""


def test_equal_components_are_one_module() -> None:
    emitted = emit_component(Grid(2, depth=1), name="grid")
    assert set(emitted.sources) == set(modules(emitted))
    assert {line(emitted.source(module)) for module in modules(emitted)} == {
        "class Arithmetic(wiring.Component):",
        "class Grid(wiring.Component):",
        "class Cell(wiring.Component):",
    }


# Every choice of every option gives Verilog that all front ends take without a word.

INSTALLED = [tool for tool in FRONT_ENDS if tool != "icarus" or shutil.which("iverilog")]
"""``test_emit`` is skipped, and says so, where Icarus is missing."""

QUICK = ["simd2-format:int8"]
_LONG = [label for label, (name, _) in OPTIONS.items() if name in ("gta", "sida", "tensaurus")]
SAMPLE = [
    *dict.fromkeys(
        label
        for label in ("matraptor-outer_product:True", *[*OPTIONS][5::75])
        if label not in _LONG
    )
]
"""Cases of the default test, besides the quick test's: not of the units that take longest."""


@pytest.mark.parametrize("option", slow_but(QUICK, OPTIONS, SAMPLE))
def test_no_front_end_complains(option: str, tmp_path: Path) -> None:
    name, changes = OPTIONS[option]
    entry = entries()[name]
    verilog = emit(entry.unit, small(entry, changes)).verilog
    said = {tool: complaints(tool, verilog, name, tmp_path) for tool in INSTALLED}
    assert said == dict.fromkeys(INSTALLED, "")


@pytest.mark.parametrize("name", entries())
def test_every_choice_is_among_the_options(name: str) -> None:
    entry = entries()[name]
    changed = (changes for unit, changes in OPTIONS.values() if unit == name)
    built = [small(entry, changes) for changes in ({}, *changed)]
    for item in entry.unit.config.parameters():
        allowed = item.metadata["allowed"]
        if not isinstance(allowed, IntRange):
            assert {getattr(config, item.name) for config in built} >= set(choices(allowed))
            assert choices(allowed)


def test_the_short_test_is_of_options() -> None:
    assert set(QUICK) < set(OPTIONS)
