"""Proofs that no sequence of inputs breaks a rule."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib import wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.kit.front_ends import run_yosys

__all__ = ["never_broken"]

_CYCLES = 12

_VERDICTS = {
    "SAT proof finished - no model found: SUCCESS!": True,
    "SAT proof finished - model found: FAIL!": False,
}
"""What the prover's log says in the end."""


def never_broken(watched: wiring.Component, directory: Path, *, cycles: int = _CYCLES) -> bool:
    """Whether the component never sets ``broken``, whatever its inputs, in the first so many cycles
    behind its reset. Raises AssertionError if the prover comes to no end."""
    (directory / "unit.v").write_text(emit_component(watched, name="watched").verilog)
    run_yosys(
        "read_verilog -sv unit.v; prep -flatten -top watched; memory_map; opt -full; "
        f"sat -seq {cycles} -set-init-zero -set rst 0 -prove broken 0 watched",
        directory,
    )
    log = (directory / "log").read_text()
    found = [holds for said, holds in _VERDICTS.items() if said in log]
    assert len(found) == 1, log[-800:]
    return found[0]
