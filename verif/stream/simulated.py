"""A component in Amaranth's simulator, with a clock whether it has registers or not."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator


def simulate(part: Any, bench: Any) -> None:
    """Run a test bench, which takes the simulator's context, beside the component."""
    m = Module()
    m.submodules.part = part
    clocked = Signal()
    m.d.sync += clocked.eq(~clocked)
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
