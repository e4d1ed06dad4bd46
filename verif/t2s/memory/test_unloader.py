"""Unloaders beside the loops that they walk, on memories of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.spec.t2s.config import ID_BITS, T2sConfig
from tilewright.hw.spec.t2s.parts import MemoryPart
from tilewright.hw.t2s.loader import run_count_bits
from tilewright.hw.t2s.t2s import Unloader
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Source, run_agents

from .bus import Manner, WriteMemory
from .loading import PARTS, Walk, around, memory_part, runs

pytestmark = pytest.mark.long

SIZE = 1 << 14
ROUGH = Manner(latency=(1, 20), stall=0.3)
ONCE = {name: part for name, part in PARTS.items() if part.repeats == 1}


def stored(part: MemoryPart, walk: Walk, words: list[int], content: bytearray) -> None:
    """Writes the words of a job to a memory, run by run."""
    size = part.word_bits // 8
    left = iter(words)
    for address in runs(part, walk):
        for n in range(part.run_words):
            place = address + n * size
            content[place : place + size] = next(left).to_bytes(size, "little")


def count_words(part: MemoryPart, walk: Walk) -> int:
    return part.run_words * sum(1 for _ in runs(part, walk))


def draw(part: MemoryPart, walk: Walk, rng: random.Random) -> list[int]:
    return [rng.getrandbits(part.word_bits) for _ in range(count_words(part, walk))]


@dataclass
class Bench:
    """An unloader with its writer and a memory; jobs one after the other.

    Members
    -------
    content: the memory
    source: of the words
    cycles: of the last job
    """

    part: MemoryPart
    manner: Manner = ROUGH
    gap: float = 0.3
    seed: int = 0
    outstanding: int = 8
    content: bytearray = field(init=False)
    cycles: int = 0

    def __post_init__(self) -> None:
        self.config = config = around(self.part, outstanding=self.outstanding)
        self.content = bytearray(random.Random(f"content {self.seed}").randbytes(SIZE))
        self.unloader, self.manager = Unloader(self.part, config), writer_of(config)
        self.memory = WriteMemory(
            self.manager, self.content, config.beat_bytes, self.manner, seed=self.seed
        )
        self.source = Source(self.unloader.i, [], gap=self.gap, seed=self.seed)
        self.error = False

    def module(self) -> Module:
        m = Module()
        m.submodules.unloader, m.submodules.manager = self.unloader, self.manager
        wiring.connect(m, self.unloader.request, self.manager.request[0])
        wiring.connect(m, self.unloader.o, self.manager.i[0])
        m.d.comb += self.manager.stop.eq(self.unloader.stop)
        return m

    def run(self, jobs: list[tuple[Walk, list[int], int | None]]) -> None:
        """Do jobs, each with its words, until its end or until it is stopped in a cycle, or at an
        error."""
        agent = Jobs(self, jobs)
        run_agents(self.module(), [self.memory, self.source, agent], until=lambda *_: agent.done)


class Jobs:
    """Starts, and stops, one job after the other; each ends when it is answered for."""

    def __init__(self, bench: Bench, jobs: list[tuple[Walk, list[int], int | None]]) -> None:
        self._bench, self._left = bench, list(jobs)
        self._state, self._begun = "idle", 0

    @property
    def done(self) -> bool:
        return self._state == "idle" and not self._left

    def drive(self, sim: Any, cycle: int) -> None:
        unloader = self._bench.unloader
        sim.set(unloader.start, int(self._state == "idle"))
        sim.set(unloader.stop, int(self._state == "stopping"))
        if self._state == "idle":
            for name, value in self._left[0][0].inputs.items():
                sim.set(getattr(unloader, name), value)

    def observe(self, sim: Any, cycle: int) -> None:
        bench = self._bench
        _, words, stop_after = self._left[0]
        idle = bool(sim.get(bench.manager.idle))
        if self._state == "idle":
            self._state, self._begun = "running", cycle
            bench.source.words += words
            return
        failed = bool(sim.get(bench.manager.error))
        bench.error |= failed
        late = stop_after is not None and cycle - self._begun >= stop_after
        if self._state == "running" and (failed or late):
            self._state = "stopping"
            bench.source.forget()
        elif self._state == "running" and not sim.get(bench.unloader.running) and idle:
            self._end(cycle)
        elif self._state == "stopping" and idle:
            assert not sim.get(bench.unloader.running)
            self._end(cycle)

    def _end(self, cycle: int) -> None:
        self._bench.cycles = cycle - self._begun
        self._left.pop(0)
        self._state = "idle"


def writer_of(config: T2sConfig) -> WriteManager:
    return WriteManager(
        1,
        addr_bits=config.addr_bits,
        data_bits=config.data_bits,
        id_bits=ID_BITS,
        outstanding=config.outstanding,
        count_bits=run_count_bits(config),
    )


@pytest.mark.parametrize("name", slow_but(["narrow", "one_word", "wide"], ONCE))
def test_words(name: str) -> None:
    """Bytes of runs are the words', all others as they were; those that overlap in order."""
    part = ONCE[name]
    for seed in range(by_size(1, 1, 10)):
        bench = Bench(part, seed=seed)
        rng = random.Random(f"{name} {seed}")
        walks = [Walk.draw(part, bench.config.beat_bytes, rng) for _ in range(3)]
        words = [draw(part, walk, rng) for walk in walks]
        expected = bytearray(bench.content)
        for walk, its in zip(walks, words, strict=True):
            stored(part, walk, its, expected)
        bench.run([(walk, its, None) for walk, its in zip(walks, words, strict=True)])
        assert bench.content == expected
        assert bench.source.done
        assert bench.memory.written == sum(map(len, words)) * part.word_bits // 8


@pytest.mark.parametrize("stop_after", slow_but([11], [1, 4, 11, 19, 30, 47], [4, 30]))
@pytest.mark.parametrize("name", ["narrow", "wide"])
def test_after_a_stop_it_begins_anew(name: str, stop_after: int) -> None:
    part = PARTS[name]
    bench = Bench(part, seed=stop_after)
    rng = random.Random(f"{name} {stop_after}")
    first, second = (Walk.draw(part, 16, rng) for _ in range(2))
    first = replace(first, base=0, strides=dict.fromkeys(part.strides, 0))
    second = replace(second, base=4096)
    words = [draw(part, walk, rng) for walk in (first, second)]
    expected = bytearray(bench.content)
    stored(part, second, words[1], expected)
    bench.run([(first, words[0], stop_after), (second, words[1], None)])
    touched = 16 * part.run_beats(16)
    assert bench.content[touched:] == expected[touched:]


def test_after_an_error_it_begins_anew() -> None:
    part = PARTS["narrow"]
    bench = Bench(part)
    rng = random.Random("error")
    failing = Walk(base=0, strides={"i": 1024, "k": 64}, trips={"i": 3, "j": 2, "k": 4})
    healthy = Walk(base=4096, strides=failing.strides, trips=failing.trips)
    bench.memory.bad = frozenset({1024 + 2 * 64 + 16})
    words = [draw(part, walk, rng) for walk in (failing, healthy)]
    expected = bytearray(bench.content)
    stored(part, healthy, words[1], expected)
    bench.run([(failing, words[0], None), (healthy, words[1], None)])
    assert bench.error
    assert bench.content[4096:] == expected[4096:]


@pytest.mark.parametrize(
    ("part", "trips", "cycles_a_run"),
    [
        (memory_part(16, "-i k"), {"i": 4, "k": 50}, 1),
        (memory_part(4, "i", (10,)), {"i": 40}, 10),
        (memory_part(32, "i", (2,)), {"i": 40}, 4),
        # Its last word lies in two beats.
        (memory_part(12, "i", (2,)), {"i": 60}, 3),
    ],
    ids=["one_beat", "narrow", "wide", "across"],
)
def test_no_pause(part: MemoryPart, trips: dict[str, int], cycles_a_run: int) -> None:
    """A word, or a beat, a cycle over all runs."""
    bench = Bench(part, Manner(latency=(4, 4)), gap=0.0, outstanding=16)
    beat = bench.config.beat_bytes
    strides = {name: part.run_beats(beat) * beat for name in part.strides}
    walk = Walk(base=0, strides=strides, trips=trips)
    words = draw(part, walk, random.Random("pause"))
    expected = bytearray(bench.content)
    stored(part, walk, words, expected)
    bench.run([(walk, words, None)])
    assert bench.content == expected
    number = sum(1 for _ in runs(part, walk))
    assert bench.cycles <= number * cycles_a_run + 30


def test_nothing_is_repeated() -> None:
    part = memory_part(4, "i", repeats=2)
    config = around(part)
    assert refusal(lambda: Unloader(part, config)) == "words of T_loader must not be repeated"


@pytest.mark.long
@pytest.mark.parametrize("word_bytes", [3, 12, 64, 512])
def test_any_width(word_bytes: int) -> None:
    part = memory_part(word_bytes, "i -j k", (2, 3))
    bench = Bench(part)
    rng = random.Random(word_bytes)
    walk = Walk.draw(part, 16, rng)
    words = draw(part, walk, rng)
    expected = bytearray(bench.content)
    stored(part, walk, words, expected)
    bench.run([(walk, words, None)])
    assert bench.content == expected
