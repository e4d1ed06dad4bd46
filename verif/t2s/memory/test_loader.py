"""Loaders beside the loops that they walk, on memories of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.spec.t2s.parts import MemoryPart
from tilewright.hw.t2s.beat_packer import BeatPacker
from tilewright.hw.t2s.loader import Loader, run_count_bits
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.prover import never_broken

from .bus import Manner
from .loading import PARTS, Loading, Walk, around, memory_part, runs

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
    """No word of the bad beat arrives, nor a later one."""
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
    """A word, or a beat, arrives in each cycle over all runs, with a slow memory."""
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
    """The run has thousands of beats."""
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


# The packer of beats against a plain count of bytes, for every sequence of inputs of some cycles.
#
# Words carry their bytes' numbers. The packer moves bytes without looking at them, so that what it
# does to these it does to any.

SIZES = {
    # bytes of a word and of a beat, words of a run
    "narrow": (1, 2, 3),
    "across": (3, 4, 3),
    "equal": (2, 2, 2),
    "wide": (6, 4, 1),
    "several": (4, 2, 2),
}


class WatchedPacker(wiring.Component):
    """A packer between a source and a sink that keep the rules of streams, beside a count.

    Parameters
    ----------
    word_bytes, beat_bytes, run_words: of the packer
    gaps: runs are said to follow each other without what fills their last beats, which is wrong
        unless they end with beats

    Members
    -------
    comes: a word is offered unless one still is
    take: whether the sink is ready
    clear: the packer forgets everything; runs begin anew
    broken: a beat has other bytes or strobes than it should, or is said to end a run where it does
        not; one that is offered changes; or with all that is needed nothing moves
    """

    def __init__(
        self, word_bytes: int, beat_bytes: int, run_words: int, *, gaps: bool = True
    ) -> None:
        self._sizes = word_bytes, beat_bytes, run_words
        self._gaps = gaps
        super().__init__({**dict.fromkeys(("comes", "take", "clear"), In(1)), "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word_bytes, _, _ = self._sizes
        m.submodules.part = part = BeatPacker(*self._sizes)
        offering = Signal()
        # Bytes of the words so far.
        first = Signal(8)
        m.d.comb += [
            part.i.valid.eq(offering | self.comes),
            part.i.payload.eq(Cat((first + n)[:8] for n in range(word_bytes))),
            part.o.ready.eq(self.take),
            part.clear.eq(self.clear),
        ]
        m.d.sync += offering.eq(part.i.valid & ~part.i.ready & ~self.clear)
        with m.If(part.i.valid & part.i.ready):
            m.d.sync += first.eq(first + word_bytes)
        self._compare(m, part)
        with m.If(self.clear):
            m.d.sync += first.eq(0)
        return m

    def _compare(self, m: Module, part: BeatPacker) -> None:
        """Beats as they leave, beside the run that they belong to."""
        word_bytes, beat_bytes, run_words = self._sizes
        run_bytes = word_bytes * run_words
        # The run's first byte, and of the beat within the run.
        begin, place = Signal(8), Signal(range(run_bytes + beat_bytes))
        inside = [place + n < run_bytes for n in range(beat_bytes)]
        wanted = Cat(Mux(inside[n], (begin + place + n)[:8], 0) for n in range(beat_bytes))
        ends = place + beat_bytes >= run_bytes
        beat = part.o.payload
        wrong = (beat.data != wanted) | (beat.strobe != Cat(inside)) | (part.ends != ends)
        with m.If(part.o.valid & part.o.ready):
            m.d.sync += place.eq(place + beat_bytes)
            with m.If(ends):
                m.d.sync += [place.eq(0), begin.eq(begin + run_bytes)]
                if not self._gaps:
                    m.d.sync += begin.eq(begin + place + beat_bytes)
        offered, before = Signal(), Signal(len(beat.as_value()))
        m.d.sync += [
            offered.eq(part.o.valid & ~part.o.ready & ~self.clear),
            before.eq(beat.as_value()),
        ]
        changed = offered & (~part.o.valid | (beat.as_value() != before))
        stuck = part.i.valid & ~part.i.ready & ~part.o.valid
        m.d.comb += self.broken.eq(changed | stuck | (part.o.valid & wrong))
        with m.If(self.clear):
            m.d.sync += [begin.eq(0), place.eq(0)]


@pytest.mark.parametrize("name", slow_but([], SIZES, ["across"]))
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    assert never_broken(WatchedPacker(*SIZES[name]), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that what fills a last beat was to be left out."""
    assert not never_broken(WatchedPacker(*SIZES["across"], gaps=False), tmp_path)
