"""A loader between its reader's memory and the sinks of its words."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.spec.t2s.config import ID_BITS, T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.loops import Loop
from tilewright.hw.spec.t2s.parts import Count, MemoryPart, Step
from tilewright.hw.t2s.loader import run_count_bits
from tilewright.verif.stream.agents import Agent, Sink, run_agents

from .bus import Manner, ReadMemory


@cache
def _plan() -> Design:
    return T2sConfig(design="gemm", largest=2).plan


def around(part: MemoryPart, **parameters: Any) -> T2sConfig:
    """A configuration whose design has this part, as its only loader and as its unloader."""
    config = T2sConfig(design="gemm", **parameters)
    vars(config)["plan"] = replace(_plan(), loaders=(part,), unloader=part)
    return config


def memory_part(
    word_bytes: int, steps: str, run: tuple[int, ...] = (), repeats: int = 1
) -> MemoryPart:
    """A part.

    Parameters
    ----------
    steps: loops, outermost first: ``i`` moves with a trip count of a register, ``-i`` does not
        move, ``i3`` is of 3 iterations
    run: trip counts of a run's loops
    """
    made = []
    for word in steps.split():
        name = word.lstrip("-").rstrip("0123456789")
        extent = word.lstrip("-")[len(name) :]
        count = Count(name, int(extent) if extent else None)
        made.append(Step(count, not word.startswith("-")))
    loops = tuple(Loop(f"run{n}", "i", extent, 1, False) for n, extent in enumerate(run))
    return MemoryPart("T_loader", "T", 8 * word_bytes, tuple(made), loops, repeats)


PARTS = {
    "narrow": memory_part(4, "i -j k", (3, 3)),
    "one_beat": memory_part(16, "-i k"),
    "one_word": memory_part(2, "i j2 -k l"),
    "wide": memory_part(40, "i -j3 k", (3,)),
    "odd": memory_part(7, "i", (5,), repeats=3),
    "byte": memory_part(1, "-i j", (33,)),
    "nothing_around": memory_part(24, "", (7,), repeats=2),
    "stays_inside": memory_part(8, "i j -k2", (2,), repeats=2),
}
"""Words narrower and wider than a beat of 16 bytes, and loops of every kind."""


@dataclass(frozen=True)
class Walk:
    """The registers of a job: a base, strides and trip counts by loop."""

    base: int
    strides: Mapping[str, int]
    trips: Mapping[str, int]

    @classmethod
    def draw(cls, part: MemoryPart, beat_bytes: int, rng: random.Random, most: int = 4) -> Walk:
        """Random ones; runs may overlap, in an order of any kind."""
        return cls(
            base=beat_bytes * rng.randrange(64),
            strides={name: beat_bytes * rng.randrange(40) for name in part.strides},
            trips={
                step.count.name: rng.randint(1, most)
                for step in part.steps
                if step.count.from_register
            },
        )

    @property
    def inputs(self) -> dict[str, int]:
        """Values of a loader's input ports."""
        strides = {f"stride_{name}": value for name, value in self.strides.items()}
        return {"base": self.base, **strides, **{f"trips_{x}": n for x, n in self.trips.items()}}


def runs(part: MemoryPart, walk: Walk) -> Iterator[int]:
    """The addresses of a job's runs: the loops as they are said."""
    spans = [range(step.count.extent or walk.trips[step.count.name]) for step in part.steps]
    for place in itertools.product(*spans):
        address = walk.base
        for step, iteration in zip(part.steps, place, strict=True):
            if step.moves:
                address += walk.strides[step.count.name] * iteration
        yield address


Order = tuple[Mapping[str, int], int | None]
"""A job: the loader's inputs, and the cycle in which it is stopped, if it is."""


class Loading:
    """A loader with its reader and a memory; jobs one after the other.

    Parameters
    ----------
    loader: has ``start``, ``stop``, ``running``, and streams of a reader
    outputs: its streams of words
    config: of the reader
    content: of the memory, from address 0 on
    manner: of the memory
    stall: share of the cycles in which an output takes nothing

    Members
    -------
    memory, sinks: the ends; a sink has the words of the last job, and the cycles of all
    error: a read failed
    cycles: of the last job
    """

    def __init__(
        self,
        loader: Any,
        outputs: Sequence[Any],
        config: T2sConfig,
        content: bytearray,
        manner: Manner,
        *,
        stall: float,
        seed: Any = 0,
    ) -> None:
        self.loader, self.manager = loader, _reader_of(config)
        self.memory = ReadMemory(self.manager, content, config.beat_bytes, manner, seed=seed)
        self.sinks = [
            Sink(port, stall=stall, seed=f"{seed}, {n}" if n else seed)
            for n, port in enumerate(outputs)
        ]
        self.error = False
        self.cycles = 0

    def run(self, orders: Sequence[Order], *others: Agent) -> list[list[list[int]]]:
        """Do jobs, each until its end or until it is stopped in a cycle, or at an error. Others
        look on. Returns the words of each job, by output."""
        jobs = _Jobs(self, orders)
        agents: list[Agent] = [self.memory, *self.sinks, jobs, *others]
        run_agents(self._module(), agents, until=lambda *_: jobs.done)
        return jobs.found

    def _module(self) -> Module:
        m = Module()
        m.submodules.loader, m.submodules.manager = self.loader, self.manager
        wiring.connect(m, self.loader.request, self.manager.request[0])
        wiring.connect(m, self.manager.o[0], self.loader.i)
        m.d.comb += self.manager.stop.eq(self.loader.stop)
        return m


class _Jobs:
    """Starts, and stops, one job after the other."""

    def __init__(self, bench: Loading, orders: Sequence[Order]) -> None:
        self._bench, self._left = bench, list(orders)
        self._state, self._begun, self._stopped = "idle", 0, 0
        self.found: list[list[list[int]]] = []

    @property
    def done(self) -> bool:
        return self._state == "idle" and not self._left

    def drive(self, sim: Any, cycle: int) -> None:
        loader = self._bench.loader
        sim.set(loader.start, int(self._state == "idle"))
        sim.set(loader.stop, int(self._state == "stopping"))
        if self._state == "idle":
            for name, value in self._left[0][0].items():
                sim.set(getattr(loader, name), value)

    def observe(self, sim: Any, cycle: int) -> None:
        bench = self._bench
        _, stop_after = self._left[0]
        if self._state == "idle":
            self._state, self._begun = "running", cycle
            for sink in bench.sinks:
                sink.words.clear()
            return
        failed = bool(sim.get(bench.manager.error))
        bench.error |= failed
        late = stop_after is not None and cycle - self._begun >= stop_after
        if self._state == "running" and (failed or late):
            self._state, self._stopped = "stopping", cycle + 1
            for sink in bench.sinks:
                sink.forget()
        elif self._state == "running" and not sim.get(bench.loader.running):
            self._end(cycle)
        elif self._state == "stopping" and cycle > self._stopped:
            assert not sim.get(bench.loader.running)
            if sim.get(bench.manager.idle):
                self._end(cycle)

    def _end(self, cycle: int) -> None:
        self._bench.cycles = cycle - self._begun
        self.found.append([list(sink.words) for sink in self._bench.sinks])
        self._left.pop(0)
        self._state = "idle"


def _reader_of(config: T2sConfig) -> ReadManager:
    return ReadManager(
        1,
        addr_bits=config.addr_bits,
        data_bits=config.data_bits,
        id_bits=ID_BITS,
        outstanding=config.outstanding,
        count_bits=run_count_bits(config),
        burst_beats=config.burst_beats,
    )
