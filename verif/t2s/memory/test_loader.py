"""Loaders beside the loops that they walk, on memories of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.spec.t2s.config import ID_BITS, T2sConfig
from tilewright.hw.spec.t2s.parts import MemoryPart
from tilewright.hw.t2s.layouts import run_count_bits
from tilewright.hw.t2s.loader import Loader
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Sink, run_agents

from .bus import Manner, ReadMemory
from .hand_made import PARTS, Walk, around, memory_part, runs

SIZE = 1 << 14
ROUGH = Manner(latency=(1, 20), stall=0.3)
LATENCY = 12


def wanted(part: MemoryPart, walk: Walk, content: bytearray) -> list[int]:
    """The words of a job."""
    size = part.word_bits // 8
    places = (
        address + n * size
        for address in runs(part, walk)
        for n in range(part.run_words)
        for _ in range(part.repeats)
    )
    return [int.from_bytes(content[place : place + size], "little") for place in places]


@dataclass
class Bench:
    """A loader with its reader and a memory; jobs one after the other.

    Members
    -------
    sink: what came
    cycles: of the last job
    """

    part: MemoryPart
    manner: Manner = ROUGH
    stall: float = 0.3
    seed: int = 0
    outstanding: int = 8
    content: bytearray = field(init=False)
    cycles: int = 0

    def __post_init__(self) -> None:
        self.config = config = around(self.part, outstanding=self.outstanding)
        self.content = bytearray(random.Random(f"content {self.seed}").randbytes(SIZE))
        self.loader, self.manager = Loader(self.part, config), reader_of(config)
        self.memory = ReadMemory(
            self.manager, self.content, config.beat_bytes, self.manner, seed=self.seed
        )
        self.sink = Sink(self.loader.o, stall=self.stall, seed=self.seed)
        self.error = False

    def module(self) -> Module:
        m = Module()
        m.submodules.loader, m.submodules.manager = self.loader, self.manager
        wiring.connect(m, self.loader.request, self.manager.request[0])
        wiring.connect(m, self.manager.o[0], self.loader.i)
        m.d.comb += self.manager.stop.eq(self.loader.stop)
        return m

    def run(self, walks: list[tuple[Walk, int | None]]) -> list[list[int]]:
        """Do jobs, each until its end or until it is stopped in a cycle, or at an error. Returns
        the words of each."""
        jobs = Jobs(self, walks)
        run_agents(self.module(), [self.memory, self.sink, jobs], until=lambda *_: jobs.done)
        return jobs.found


class Jobs:
    """Starts, and stops, one job after the other."""

    def __init__(self, bench: Bench, walks: list[tuple[Walk, int | None]]) -> None:
        self._bench, self._left = bench, list(walks)
        self._state, self._begun = "idle", 0
        self.found: list[list[int]] = []

    @property
    def done(self) -> bool:
        return self._state == "idle" and not self._left

    def drive(self, sim: Any, cycle: int) -> None:
        loader = self._bench.loader
        sim.set(loader.start, int(self._state == "idle"))
        sim.set(loader.stop, int(self._state == "stopping"))
        if self._state == "idle":
            for name, value in self._left[0][0].inputs.items():
                sim.set(getattr(loader, name), value)

    def observe(self, sim: Any, cycle: int) -> None:
        bench = self._bench
        _, stop_after = self._left[0]
        if self._state == "idle":
            self._state, self._begun = "running", cycle
            bench.sink.words.clear()
            return
        failed = bool(sim.get(bench.manager.error))
        bench.error |= failed
        late = stop_after is not None and cycle - self._begun >= stop_after
        if self._state == "running" and (failed or late):
            self._state = "stopping"
            bench.sink.forget()
        elif self._state == "running" and not sim.get(bench.loader.running):
            self._end(cycle)
        elif self._state == "stopping" and sim.get(bench.manager.idle):
            assert not sim.get(bench.loader.running)
            self._end(cycle)

    def _end(self, cycle: int) -> None:
        self._bench.cycles = cycle - self._begun
        self.found.append(list(self._bench.sink.words))
        self._left.pop(0)
        self._state = "idle"


def reader_of(config: T2sConfig) -> ReadManager:
    return ReadManager(
        1,
        addr_bits=config.addr_bits,
        data_bits=config.data_bits,
        id_bits=ID_BITS,
        outstanding=config.outstanding,
        count_bits=run_count_bits(config),
    )


@pytest.mark.parametrize("name", slow_but(["narrow", "one_beat", "odd", "stays_inside"], PARTS))
def test_words(name: str) -> None:
    part = PARTS[name]
    for seed in range(by_size(1, 1, 10)):
        bench = Bench(part, seed=seed)
        rng = random.Random(f"{name} {seed}")
        walks = [Walk.draw(part, bench.config.beat_bytes, rng) for _ in range(3)]
        found = bench.run([(walk, None) for walk in walks])
        assert found == [wanted(part, walk, bench.content) for walk in walks]
        beats = sum(part.run_beats(16) for walk in walks for _ in runs(part, walk))
        assert bench.memory.beats == beats


@pytest.mark.parametrize("stop_after", slow_but([11], [1, 4, 11, 19, 30, 47], [4, 30]))
@pytest.mark.parametrize("name", ["narrow", "odd"])
def test_after_a_stop_it_begins_anew(name: str, stop_after: int) -> None:
    part = PARTS[name]
    bench = Bench(part, seed=stop_after)
    rng = random.Random(f"{name} {stop_after}")
    first, second = (Walk.draw(part, 16, rng, most=6) for _ in range(2))
    stopped, whole = bench.run([(first, stop_after), (second, None)])
    expected = wanted(part, first, bench.content)
    assert stopped == expected[: len(stopped)]
    assert whole == wanted(part, second, bench.content)


def test_after_an_error_it_begins_anew() -> None:
    """No word of the bad beat comes, nor one behind it."""
    part = PARTS["narrow"]
    bench = Bench(part)
    walk = Walk(base=0, strides={"i": 1024, "k": 64}, trips={"i": 3, "j": 2, "k": 4})
    bench.memory.bad = frozenset({1024 + 2 * 64 + 16})
    before = 2 * 4 * 9 + 2 * 9 + 4
    healthy = Walk(base=4096, strides=walk.strides, trips=walk.trips)
    failed, whole = bench.run([(walk, None), (healthy, None)])
    assert bench.error
    assert len(failed) <= before
    assert failed == wanted(part, walk, bench.content)[: len(failed)]
    assert whole == wanted(part, healthy, bench.content)


@pytest.mark.parametrize(
    ("part", "trips"),
    [
        (memory_part(16, "-i k"), {"i": 4, "k": 50}),
        (memory_part(16, "i", (5,)), {"i": 40}),
        (memory_part(4, "i", (3,)), {"i": 60}),
        (memory_part(8, "-i k", (2,), repeats=2), {"i": 6, "k": 10}),
        (memory_part(32, "i"), {"i": 80}),
    ],
    ids=["one_beat", "five_beats", "three_of_four", "repeated", "two_beats_a_word"],
)
def test_no_pause(part: MemoryPart, trips: dict[str, int]) -> None:
    """A word, or a beat, a cycle over all runs, behind a memory that takes its time."""
    bench = Bench(part, Manner(latency=(LATENCY, LATENCY)), stall=0.0, outstanding=LATENCY + 4)
    beat = bench.config.beat_bytes
    strides = {name: part.run_beats(beat) * beat for name in part.strides}
    walk = Walk(base=0, strides=strides, trips=trips)
    (found,) = bench.run([(walk, None)])
    assert found == wanted(part, walk, bench.content)
    taken = bench.sink.cycles
    beats = sum(part.run_beats(beat) for _ in runs(part, walk))
    assert taken[-1] - taken[0] + 1 <= max(len(found), beats)


def test_a_long_run() -> None:
    """Of thousands of beats."""
    part = memory_part(16, "i2", (5, 500))
    config = around(part)
    assert run_count_bits(config) == 12
    bench = Bench(part, Manner(), stall=0.0)
    bench.content += random.Random("more").randbytes(40_000)
    walk = Walk(base=64, strides={"i": 16}, trips={})
    (found,) = bench.run([(walk, None)])
    assert found == wanted(part, walk, bench.content)
    assert bench.cycles < 5_100


@pytest.mark.long
@pytest.mark.parametrize("word_bytes", [3, 12, 64, 512])
def test_any_width(word_bytes: int) -> None:
    part = memory_part(word_bytes, "i -j k", (2, 3))
    bench = Bench(part)
    walk = Walk.draw(part, 16, random.Random(word_bytes))
    (found,) = bench.run([(walk, None)])
    assert found == wanted(part, walk, bench.content)
