"""Simulates a part with several streams, in Amaranth's simulator or natively.

An agent has two methods, both called in every cycle: ``drive`` sets inputs; then, when all agents
have, ``observe`` looks at what moves at the cycle's end.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from tilewright.hw.arith.scalar_operators import delay
from tilewright.hw.stream.stream_registers import SkidBuffer
from tilewright.hw.stream.valid_pipeline import ValidPipeline


class RigidPipeline(wiring.Component):
    """A pipeline of ``ValidPipeline`` and registers of data, as arithmetic units have them.

    Parameters
    ----------
    bits: width of a transfer
    stages: number of stages
    skid: behind it is a ``SkidBuffer``, whose ready moves the stages; else nothing does, and they
        stand while something waits at the end
    """

    def __init__(self, bits: int, stages: int, *, skid: bool = False) -> None:
        self._bits, self._stages, self._skid = bits, stages, skid
        signature = stream.Signature(bits)
        super().__init__({"i": In(signature), "o": Out(signature), "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.valids = valids = ValidPipeline(self._stages)
        value = delay(m, self.i.payload, self._stages, self.i.ready, "data")
        m.d.comb += [
            valids.i.eq(self.i.valid),
            valids.advance.eq(self.i.ready),
            valids.clear.eq(self.clear),
        ]
        if self._skid:
            m.submodules.skid = skid = SkidBuffer(self._bits, clearable=True)
            wiring.connect(m, skid.o, wiring.flipped(self.o))
            m.d.comb += [
                skid.clear.eq(self.clear),
                skid.i.valid.eq(valids.o),
                skid.i.payload.eq(value),
                self.i.ready.eq(skid.i.ready),
            ]
        else:
            m.d.comb += [
                self.o.valid.eq(valids.o),
                self.o.payload.eq(value),
                self.i.ready.eq(self.o.ready | ~valids.o),
            ]
        return m


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


class Agent(Protocol):
    """One end of a simulated part."""

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None: ...


class Source:
    """Offers words to a stream, in order.

    Parameters
    ----------
    port: the stream
    words: payloads, as bits; further ones may be appended to the list
    gap: share of the cycles in which nothing new is offered
    begin: the first cycle in which something is

    Members
    -------
    cycles: in which words were taken
    """

    def __init__(
        self,
        port: Any,
        words: Iterable[int],
        *,
        gap: float = 0.0,
        begin: int = 0,
        seed: Any = 0,
    ) -> None:
        self._port, self._gap, self._begin = port, gap, begin
        self._payload = Value.cast(port.payload)
        self._random = random.Random(f"{seed}")
        self.words = list(words)
        self.cycles: list[int] = []
        self._offers = False
        self._shown: tuple[bool, int] | None = None

    @property
    def done(self) -> bool:
        """True if all words were accepted."""
        return len(self.cycles) == len(self.words)

    def forget(self) -> None:
        """Offer nothing more."""
        del self.words[len(self.cycles) :]
        self._offers, self._shown = False, None

    def drive(self, sim: Any, cycle: int) -> None:
        if not self._offers and not self.done and cycle >= self._begin:
            self._offers = self._random.random() >= self._gap
        shown = (self._offers, len(self.cycles))
        if shown != self._shown:
            sim.set(self._port.valid, int(self._offers))
            if self._offers:
                sim.set(self._payload, self.words[len(self.cycles)])
            self._shown = shown

    def observe(self, sim: Any, cycle: int) -> None:
        if self._offers and sim.get(self._port.ready):
            self.cycles.append(cycle)
            self._offers = False


class Sink:
    """Accepts the words of a stream, and checks the rules of streams.

    Parameters
    ----------
    port: the stream
    stall: share of the cycles in which nothing is taken
    accept: called with each word, as bits

    Members
    -------
    words: what was taken
    cycles: when
    """

    def __init__(
        self,
        port: Any,
        *,
        stall: float = 0.0,
        seed: Any = 0,
        accept: Callable[[int], None] | None = None,
    ) -> None:
        self._port, self.stall, self._accept = port, stall, accept
        self._payload = Value.cast(port.payload)
        self._random = random.Random(f"{seed}")
        self._ready: bool | None = None
        self._held: int | None = None
        self.words: list[int] = []
        self.cycles: list[int] = []

    def forget(self) -> None:
        """Allows the offered word to disappear without a transfer."""
        self._held = None

    def drive(self, sim: Any, cycle: int) -> None:
        ready = self._random.random() >= self.stall
        if ready != self._ready:
            sim.set(self._port.ready, int(ready))
            self._ready = ready

    def observe(self, sim: Any, cycle: int) -> None:
        if not sim.get(self._port.valid):
            assert self._held is None, f"what was offered has gone, in cycle {cycle}"
            return
        word = sim.get(self._payload)
        assert self._held in (None, word), f"what was offered has changed, in cycle {cycle}"
        self._held = None if self._ready else word
        if self._ready:
            self.words.append(word)
            self.cycles.append(cycle)
            if self._accept is not None:
                self._accept(word)


class Pulse:
    """An input that is 1 for a cycle at once, and whenever it is ``due``."""

    def __init__(self, port: Any) -> None:
        self._port, self.due, self._shown = port, True, False

    def forget(self) -> None:
        self.due = False

    def drive(self, sim: Any, cycle: int) -> None:
        if self.due != self._shown:
            sim.set(self._port, int(self.due))
            self._shown = self.due
        self.due = False

    def observe(self, sim: Any, cycle: int) -> None: ...


class Wire:
    """An input that is 1 in given cycles; ``value`` tells, by the cycle."""

    def __init__(self, port: Any, value: Callable[[int], int]) -> None:
        self._port, self._value = port, value
        self._shown: int | None = None

    def drive(self, sim: Any, cycle: int) -> None:
        value = self._value(cycle)
        if value != self._shown:
            sim.set(self._port, value)
            self._shown = value

    def observe(self, sim: Any, cycle: int) -> None: ...


class Each:
    """An agent that calls something in every cycle."""

    def __init__(self, call: Callable[[int], None]) -> None:
        self._call = call

    def drive(self, sim: Any, cycle: int) -> None:
        self._call(cycle)

    def observe(self, sim: Any, cycle: int) -> None: ...


def run_agents(
    part: Any,
    agents: Sequence[Agent],
    *,
    until: Callable[[Any, int], bool],
    most: int = 100_000,
    wires: Iterable[tuple[Any, int]] = (),
) -> int:
    """Simulates until ``until`` returns true; it is called after every cycle with the simulator and
    the number of the cycle. Returns the cycles. Raises AssertionError after ``most`` of them.

    ``part`` is a component, for Amaranth's simulator, or what runs a bench on one.
    """
    ran = 0

    async def bench(sim: Any) -> None:
        nonlocal ran
        for port, value in wires:
            sim.set(Value.cast(port), value)
        for cycle in range(most):
            for agent in agents:
                agent.drive(sim, cycle)
            for agent in agents:
                agent.observe(sim, cycle)
            await sim.tick()
            ran = cycle + 1
            if until(sim, cycle):
                return
        raise AssertionError(f"not done after {most} cycles")

    if callable(part):
        part(bench)
        return ran
    # The simulator writes masks of wide signals as decimal numbers.
    sys.set_int_max_str_digits(0)
    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return ran
