"""Jobs of a function that moves words: its input words, and the words that must leave at each
output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

from amaranth.hdl import Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.spec.t2s.parts import Count
from tilewright.verif.stream.agents import Sink, Source, Wire, run_agents


class Watched(wiring.Component):
    """A part between sources and sinks that keep the rules of streams.

    Parameters
    ----------
    part: the component; it may have inputs ``copies`` and ``trips_summed``
    steady: whether these stay as they are, as they must

    Members
    -------
    offer_<i>, payload_<i>: what a source offers, unless it still offers something else
    take_<o>: whether a sink is ready
    copies, trips: of the first cycle count, if they are steady
    broken: something that was offered has gone, or has changed
    """

    def __init__(self, part: Any, *, steady: bool = True) -> None:
        self._part = part
        self._steady = steady
        members = part.signature.members
        streams = [name for name in members if hasattr(getattr(part, name), "valid")]
        self._inputs = [name for name in streams if members[name].flow is In]
        self._outputs = [name for name in streams if members[name].flow is Out]
        self._counts = "copies" in members
        counts = {"copies": In(1), "trips": In(1)} if self._counts else {}
        widths = {name: len(Value.cast(getattr(part, name).payload)) for name in self._inputs}
        super().__init__(
            {
                **{f"offer_{name}": In(1) for name in self._inputs},
                **{f"payload_{name}": In(width) for name, width in widths.items()},
                **{f"take_{name}": In(1) for name in self._outputs},
                **counts,
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        if self._counts:
            self._count(m)
        for name in self._inputs:
            port, waiting = getattr(part, name), Signal(name=f"{name}_waiting")
            payload = Value.cast(port.payload)
            kept = Signal.like(payload, name=f"{name}_kept")
            m.d.comb += [
                port.valid.eq(waiting | getattr(self, f"offer_{name}")),
                payload.eq(getattr(self, f"payload_{name}")),
            ]
            with m.If(waiting):
                m.d.comb += payload.eq(kept)
            m.d.sync += [waiting.eq(port.valid & ~port.ready), kept.eq(payload)]
        for name in self._outputs:
            port, offered = getattr(part, name), Signal(name=f"{name}_offered")
            payload = Value.cast(port.payload)
            before = Signal.like(payload, name=f"{name}_before")
            m.d.comb += port.ready.eq(getattr(self, f"take_{name}"))
            m.d.sync += [offered.eq(port.valid & ~port.ready), before.eq(payload)]
            with m.If(offered & (~port.valid | (payload != before))):
                m.d.comb += self.broken.eq(1)
        return m

    def _count(self, m: Module) -> None:
        """Copies, and a trip count of at least 1."""
        part = self._part
        began = Signal()
        copies = Signal()
        trips = Signal()
        m.d.sync += began.eq(int(self._steady))
        with m.If(~began):
            m.d.sync += [copies.eq(self.copies), trips.eq(self.trips)]
            m.d.comb += [part.copies.eq(self.copies), part.trips_summed.eq(1 + self.trips)]
        with m.Else():
            m.d.comb += [part.copies.eq(copies), part.trips_summed.eq(1 + trips)]


@dataclass
class Job:
    """Words by the name of the stream, in order, and the trip counts with which they are due."""

    trips: Mapping[str, int]
    inputs: dict[str, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[int]] = field(default_factory=dict)

    def put(self, stream: str, word: int, *, flags: Sequence[bool] = (), bits: int = 0) -> None:
        """Adds an output word. ``flags`` follow its ``bits``."""
        flagged = sum(flag << (bits + n) for n, flag in enumerate(flags))
        self.outputs.setdefault(stream, []).append(word | flagged)

    def get(self, stream: str, word: int) -> int:
        """Adds an input word."""
        self.inputs.setdefault(stream, []).append(word)
        return word


def iterations(
    nest: Sequence[Count], trips: Mapping[str, int], copies: int
) -> Iterator[dict[str, tuple[int, int]]]:
    """Yields for each place the iteration and the extent of every loop, by name."""
    extents = [
        copies + 1 if one.turn else trips[one.name] if one.extent is None else one.extent
        for one in nest
    ]
    for place in product(*map(range, extents)):
        yield {one.name: (n, extent) for one, n, extent in zip(nest, place, extents, strict=True)}


def is_own(nest: Sequence[Count], place: Mapping[str, tuple[int, int]]) -> bool:
    """Returns whether an iteration belongs to the copy's own turn."""
    for one in nest:
        if one.turn:
            n, extent = place[one.name]
            return n == (extent - 1 if one.own_last else 0)
    return True


def random_words(rng: Random, bits: int) -> Iterator[int]:
    """Words without end."""
    while True:
        yield rng.getrandbits(bits)


class Independent:
    """Looks, in some cycles, whether an output's ``valid`` is another one if ``ready`` is."""

    def __init__(self, sinks: Sequence[Any], seed: Any) -> None:
        self._ports = sinks
        self._random = Random(f"independent {seed}")

    def drive(self, sim: Any, cycle: int) -> None:
        if self._random.random() < 0.8:
            return
        valid = [sim.get(port.valid) for port in self._ports]
        for port in self._ports:
            ready = sim.get(port.ready)
            sim.set(port.ready, 1 - ready)
            assert [sim.get(one.valid) for one in self._ports] == valid
            sim.set(port.ready, ready)

    def observe(self, sim: Any, cycle: int) -> None: ...


class Run:
    """Runs jobs one after the other; checks the outputs against the expected words and the rules of
    streams.

    Parameters
    ----------
    part: the component
    copies: its input of that name, if it has one
    gap, stall: shares of cycles in which inputs offer nothing, outputs take nothing
    stalled: outputs that take nothing ever
    reset_at: the cycle in which it is reset; the first job then begins anew

    Members
    -------
    cycles: by stream, in which words moved
    """

    def __init__(
        self,
        part: Any,
        jobs: Sequence[Job],
        *,
        copies: int = 0,
        gap: float = 0.0,
        stall: float = 0.0,
        seed: Any = 0,
        stalled: Sequence[str] = (),
        reset_at: int | None = None,
    ) -> None:
        self._part, self._jobs, self._reset_at = part, jobs, reset_at
        members = part.signature.members
        self._wires = [(part.copies, copies)] if "copies" in members else []
        streams = [name for name in members if hasattr(getattr(part, name), "valid")]
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        for name in streams:
            port = getattr(part, name)
            if members[name].flow is In:
                self._sources[name] = Source(port, [], gap=gap, seed=f"{seed} {name}")
            else:
                part_of = 1.0 if name in stalled else stall
                self._sinks[name] = Sink(port, stall=part_of, seed=f"{seed} {name}")
        self._job = -1
        reset = Signal()
        m = Module()
        m.submodules.part = ResetInserter(reset)(part)
        clocked = Signal()
        m.d.sync += clocked.eq(~clocked)
        resets = Wire(reset, lambda cycle: int(cycle == reset_at))
        sinks = [getattr(part, name) for name in self._sinks]
        run_agents(
            m,
            [
                resets,
                *self._sources.values(),
                *self._sinks.values(),
                Independent(sinks, seed),
            ],
            until=self._until,
            wires=[*self._wires, *self._next()],
        )
        self.cycles = {name: end.cycles for name, end in self._sources.items()}
        self.cycles |= {name: end.cycles for name, end in self._sinks.items()}

    def _next(self) -> list[tuple[Any, int]]:
        """The next job. Returns its trip counts by port."""
        self._job += 1
        job = self._jobs[self._job]
        for name, words in job.inputs.items():
            self._sources[name].words += words
        return [
            (getattr(self._part, port), job.trips[port.removeprefix("trips_")])
            for port in self._part.signature.members
            if port.startswith("trips_")
        ]

    def _until(self, sim: Any, cycle: int) -> bool:
        if cycle == self._reset_at:
            for source in self._sources.values():
                source.forget()
            for sink in self._sinks.values():
                sink.forget()
                sink.words.clear()
            self._job = -1
            self._set(sim)
            return False
        job = self._jobs[self._job]
        for name, sink in self._sinks.items():
            wanted = job.outputs.get(name, [])
            assert sink.words == wanted[: len(sink.words)], f"{name} of job {self._job}"
            if len(sink.words) < len(wanted):
                return False
        if not all(source.done for source in self._sources.values()):
            return False
        if self._job == len(self._jobs) - 1:
            return True
        for sink in self._sinks.values():
            sink.words.clear()
        self._set(sim)
        return False

    def _set(self, sim: Any) -> None:
        for port, value in self._next():
            sim.set(port, value)
