"""Emitted modules and signals name the Python lines that define them."""

from __future__ import annotations

import re
from pathlib import Path

import tilewright
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.verif.emit.components import Grid, Machine
from tilewright.verif.kit.units import emitted_unit

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
    assert legal.startswith("hw/simd2/control.py:")
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
