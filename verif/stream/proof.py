"""Proofs that no sequence of inputs breaks a rule."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib import wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.kit.front_ends import run_yosys

__all__ = ["prove"]

_CYCLES = 12


def prove(watched: wiring.Component, directory: Path, *, cycles: int = _CYCLES) -> None:
    """That the component never sets ``broken``, whatever its inputs, within so many cycles of its
    reset; else AssertionError."""
    (directory / "unit.v").write_text(emit_component(watched, name="watched").verilog)
    run_yosys(
        "read_verilog -sv unit.v; prep -flatten -top watched; memory_map; opt -full; "
        f"sat -verify -seq {cycles} -set-init-zero -set rst 0 -prove broken 0 watched",
        directory,
    )
