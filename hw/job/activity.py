"""Counts the activity of a running job."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.registers.job_spec import JobSpec
from ..spec.registers.register_map import COUNTER_BITS

__all__ = ["Activity", "count", "counter_members", "ones"]


class Activity(wiring.Component):
    """Counts the cycles with activity, and the idle cycles between them.

    ``busy_cycles`` and ``stalls`` together are the cycles from the first to the last one in
    which it happened.

    Members
    -------
    clear: pulse: from zero
    active: it happens in this cycle
    busy_cycles, stalls
    """

    def __init__(self) -> None:
        counters = {name: Out(COUNTER_BITS) for name in ("busy_cycles", "stalls")}
        super().__init__({"clear": In(1), "active": In(1), **counters})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begun = Signal()
        # Idle cycles since the first activity: they are stalls once there is activity again.
        idle = Signal(COUNTER_BITS)
        with m.If(self.active):
            m.d.sync += [
                begun.eq(1),
                self.stalls.eq(idle),
                self.busy_cycles.eq(self.busy_cycles + 1),
            ]
        with m.Elif(begun):
            m.d.sync += idle.eq(idle + 1)
        with m.If(self.clear):
            m.d.sync += [begun.eq(0), idle.eq(0), self.stalls.eq(0), self.busy_cycles.eq(0)]
        return m


def ones(bits: Value) -> Value:
    """Counts the bits that are set."""
    if len(bits) == 1:
        return bits
    half = len(bits) // 2
    return ones(bits[:half]) + ones(bits[half:])


def counter_members(spec: JobSpec) -> dict[str, Member]:
    """Outputs of all that an accelerator counts."""
    return {name: Out(COUNTER_BITS) for name in spec.counters}


def count(
    m: Module, counters: wiring.Component, name: str, step: Value, *, late: bool = False
) -> None:
    """Adds ``step`` to a counter of a component in every cycle; its ``clear`` begins from zero.

    ``late``: through a register, where the step itself arrives late. The counter is complete two
    cycles after its last step, in place of one.
    """
    counter: Value = getattr(counters, name)
    if late:
        registered = Signal(len(step), name=f"{name}_step")
        m.d.sync += registered.eq(step)
        step = registered
    if len(step) > 1:
        m.d.sync += counter.eq(counter + step)
    else:
        # It may arrive late: it drives an enable, not the carry chain.
        with m.If(step):
            m.d.sync += counter.eq(counter + 1)
    with m.If(counters.clear):
        m.d.sync += counter.eq(0)
