"""Loaders beside the loops that they walk, on memories of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from tilewright.hw.spec.t2s.parts import MemoryPart
from tilewright.hw.t2s.layouts import run_count_bits
from tilewright.hw.t2s.loader import Loader
from tilewright.verif.kit.sampling import by_size, slow_but

from .bus import Manner
from .hand_made import PARTS, Walk, around, memory_part, runs
from .loading import Loading

pytestmark = pytest.mark.long

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
    """A loader of a part on random memory.

    Members
    -------
    sink: what came
    """

    part: MemoryPart
    manner: Manner = ROUGH
    stall: float = 0.3
    seed: int = 0
    outstanding: int = 8
    content: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.config = config = around(self.part, outstanding=self.outstanding)
        self.content = bytearray(random.Random(f"content {self.seed}").randbytes(SIZE))
        loader = Loader(self.part, config)
        self.loading = Loading(
            loader, [loader.o], config, self.content, self.manner, stall=self.stall, seed=self.seed
        )
        self.memory, self.sink = self.loading.memory, self.loading.sinks[0]

    def run(self, walks: list[tuple[Walk, int | None]]) -> list[list[int]]:
        """Do jobs, as :class:`Loading` does. Returns the words of each."""
        found = self.loading.run([(walk.inputs, stop_after) for walk, stop_after in walks])
        return [words for (words,) in found]


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
    assert bench.loading.error
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
    assert bench.loading.cycles < 5_100


@pytest.mark.long
@pytest.mark.parametrize("word_bytes", [3, 12, 64, 512])
def test_any_width(word_bytes: int) -> None:
    part = memory_part(word_bytes, "i -j k", (2, 3))
    bench = Bench(part)
    walk = Walk.draw(part, 16, random.Random(word_bytes))
    (found,) = bench.run([(walk, None)])
    assert found == wanted(part, walk, bench.content)
