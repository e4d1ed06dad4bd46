"""The addresses of an image's runs, in the order in which they are needed."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.jobs.t2s import base_register, stride_register, trips_register
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import MemoryPart, Step

__all__ = ["RunWalker", "connect_walk", "walk_members"]


def walk_members(part: MemoryPart, config: T2sConfig) -> dict[str, wiring.Member]:
    """Inputs that say where the runs of a job lie: ``base``, ``stride_<loop>``,
    ``trips_<name>``."""
    strides = {f"stride_{loop}": In(config.addr_bits) for loop in part.strides}
    trips = {
        f"trips_{step.count.name}": In(config.trip_bits)
        for step in part.steps
        if step.count.from_register
    }
    return {"base": In(config.addr_bits), **strides, **trips}


def connect_walk(m: Module, part: MemoryPart, component: Any, job: data.View[Any]) -> None:
    """Connect these inputs of a component with the job at hand, see ``job_layout``."""
    registers = {"base": base_register(part)}
    registers |= {f"stride_{loop}": stride_register(part, loop) for loop in part.strides}
    registers |= {
        f"trips_{step.count.name}": trips_register(step.count.name)
        for step in part.steps
        if step.count.from_register
    }
    m.d.comb += [
        getattr(component, name).eq(job[register.lower()]) for name, register in registers.items()
    ]


class RunWalker(wiring.Component):
    """Walks the loops around an image's runs.

    ``address = base + sum of stride * iteration``, over the loops in which the place moves. An
    address a cycle, without multipliers: each of these loops has a pointer. Entering its next
    iteration adds its stride to its pointer, and the pointers of the loops inside start there.
    Entering that of a loop in which nothing moves takes those inside back to where they began.
    Addresses wrap around.

    Parameters
    ----------
    part: the loops
    config: widths of addresses and trip counts

    Members
    -------
    start: pulse: begin at ``base``; needs ``stop`` low
    stop: end at once, forget the address that was offered
    base, stride_*, trips_*: see :func:`walk_members`; constant from ``start`` on
    running: addresses are left
    o: addresses
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        self._config = config
        # A loop of one iteration does nothing.
        self._steps = [step for step in part.steps if step.count.extent != 1]
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "o": Out(stream.Signature(config.addr_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        moved = Signal()
        m.d.comb += [self.o.valid.eq(self.running), moved.eq(self.running & self.o.ready)]
        enters, ends = self._count(m, moved)
        self._point(m, enters)
        with m.If(ends | self.stop):
            m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += self.running.eq(1)
        return m

    def _count(self, m: Module, moved: Value) -> tuple[dict[str, Signal], Value]:
        """Count iterations, from 1 on. Returns, by loop, whether the next one of it, or of a loop
        around it, is entered; and whether all loops end."""
        enters: dict[str, Signal] = {}
        carry = moved
        for step in reversed(self._steps):
            name, trips = step.count.name, self._trips(step)
            number = Signal(len(trips), init=1, name=f"number_{name}")
            last = Signal(name=f"last_{name}")
            enters[name] = entered = Signal(name=f"enters_{name}")
            m.d.comb += [last.eq(number == trips), entered.eq(carry)]
            with m.If(entered):
                m.d.sync += number.eq(Mux(last, 1, number + 1))
            with m.If(self.start):
                m.d.sync += number.eq(1)
            carry = entered & last
        return enters, carry

    def _trips(self, step: Step) -> Value:
        if step.count.from_register:
            trips: Value = getattr(self, f"trips_{step.count.name}")
            return trips
        return Const(step.count.extent or 1)

    def _point(self, m: Module, enters: dict[str, Signal]) -> None:
        """Move the pointers: all of the loops that are entered to the same place."""
        bits = self._config.addr_bits
        pointers: dict[str, Signal] = {}
        begin: Value = self.base
        # From the outermost loop on: the first that is entered says what is added to what.
        choices: list[tuple[Value, Value, Value]] = []
        for step in self._steps:
            name = step.count.name
            stride: Value = Const(0, bits)
            if step.moves:
                pointers[name] = begin = Signal(bits, name=f"at_{name}", reset_less=True)
                stride = getattr(self, f"stride_{name}")
            choices.append((enters[name], begin, stride))
        m.d.comb += self.o.payload.eq(begin)
        if not pointers:
            return
        _, origin, distance = choices.pop()
        for entered, its_origin, its_distance in reversed(choices):
            origin = Mux(entered, its_origin, origin)
            distance = Mux(entered, its_distance, distance)
        target = Signal(bits)
        m.d.comb += target.eq(origin + distance)
        for name, pointer in pointers.items():
            with m.If(enters[name]):
                m.d.sync += pointer.eq(target)
            with m.If(self.start):
                m.d.sync += pointer.eq(self.base)
