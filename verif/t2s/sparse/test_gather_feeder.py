"""Feeders whose words entries choose, against loops in plain Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.spec.t2s.sparse_parts import Coordinate, GatherPart
from tilewright.hw.stream.stream_registers import SkidBuffer
from tilewright.hw.t2s.sparse.fed_element import GatherFeeder
from tilewright.verif.kit.sampling import cases
from tilewright.verif.stream.agents import Sink, Source, run_agents
from tilewright.verif.t2s.hardware.jobs import Job, Run, iterations, random_words

from .element_work import draw_entry, draw_layout, draw_nothing, end_token, random_ends, token

pytestmark = pytest.mark.long

WORD_BITS = 8


def draw(rng: Random, *, most: int = 4, double: bool | None = None) -> GatherPart:
    """A feeder of any digits, whose tokens may have more coordinates than it looks at."""
    places = [Coordinate(index, 2 * index, rng.randrange(1, most + 1)) for index in "klm"]
    places = places[: rng.randrange(1, 4)]
    layout = draw_layout(rng, places)
    chosen = rng.sample(places, rng.randrange(1, len(places) + 1))
    ring = [Count(f"j{n}", rng.randrange(1, most + 1)) for n in range(rng.randrange(3))]
    again = [Count(f"r{n}", rng.choice([1, 2, 3])) for n in range(rng.randrange(2))]
    digits = [*(Count(one.loop, one.extent) for one in chosen), *ring]
    fill, read = list(digits), [*ring, *again]
    rng.shuffle(fill)
    rng.shuffle(read)
    return GatherPart(
        "gathers",
        "B",
        WORD_BITS,
        layout,
        fill=tuple(fill),
        fill_place=tuple(one.name for one in digits),
        coordinates=tuple(one.index for one in chosen),
        read=tuple(read),
        read_place=tuple(one.name for one in ring),
        extents=tuple(one.extent or 1 for one in digits),
        double=rng.random() < 0.6 if double is None else double,
        level=rng.choice(layout.levels),
    )


def part_of(
    extent: int, ring: int, *, double: bool, levels: tuple[str, ...] = ("i", "k")
) -> GatherPart:
    """A feeder of one coordinate, whose word the ring chooses, too."""
    layout = replace(draw_layout(Random(1), [Coordinate("k", "kk", extent)]), levels=levels)
    fill, read = (Count("kk", extent), Count("jj", ring)), (Count("jj", ring),)
    return GatherPart(
        "gathers", "B", WORD_BITS, layout, fill, ("kk", "jj"), ("k",), read, ("jj",),
        (extent, ring), double, levels[-1],
    )  # fmt: skip


MOST_TOKENS = 4
"""Most tokens of a tile."""

NOTHING = 0.2
"""Share of tokens that say nothing."""


def statement(part: GatherPart, blocks: list[dict[Any, int]], job: Job, rng: Random) -> None:
    """Runs the function's loops on its blocks: entries of tiles arrive until one ends the level's
    iteration."""
    layout = part.layout
    for block in blocks:
        ended = 0
        while not ended >> layout.levels.index(part.level) & 1:
            for _ in range(rng.randrange(MOST_TOKENS + 1)):
                if rng.random() < NOTHING:
                    job.get("t", token(layout, **draw_nothing(rng, layout)))
                    continue
                entry = draw_entry(rng, layout)
                job.get("t", token(layout, **entry))
                at = tuple(entry[f"at_{index}"] for index in part.coordinates)
                for place in iterations(part.read, {}, 0):
                    job.put("o", block[at + tuple(place[name][0] for name in part.read_place)])
            ended = random_ends(rng, layout)
            job.get("t", end_token(rng, layout, ended))


def filled(part: GatherPart, job: Job, rng: Random, rounds: int) -> list[dict[Any, int]]:
    """Returns blocks of random words, which arrive and are passed on."""
    words, blocks = random_words(rng, part.word_bits), []
    for _ in range(rounds):
        block = {}
        for place in iterations(part.fill, {}, 0):
            word = job.get("i", next(words))
            job.put("o_onward", word)
            block[tuple(place[name][0] for name in part.fill_place)] = word
        blocks.append(block)
    return blocks


def job_of(part: GatherPart, rng: Random, *, rounds: int = 4) -> Job:
    job = Job({})
    statement(part, filled(part, job, rng, rounds), job, rng)
    return job


@pytest.mark.parametrize("seed", range(cases(160)))
def test_random(seed: int) -> None:
    """Loops are drawn, and several jobs run; half of the runs have a reset in the middle."""
    rng = Random(f"gather {seed}")
    part = draw(rng)
    gap, stall = rng.choices([0.0, 0.3, 0.7], k=2)
    reset_at = rng.choice([None, rng.randrange(1, 60)])
    jobs = [job_of(part, rng) for _ in range(2)]
    Run(GatherFeeder(part), jobs, gap=gap, stall=stall, seed=seed, reset_at=reset_at)


@pytest.mark.parametrize("ring", [1, 4])
@pytest.mark.parametrize("seed", range(cases(20)))
def test_rate(seed: int, ring: int) -> None:
    """Two halves: a word leaves every cycle, over entries and over blocks, but for a cycle of each
    token that is no entry."""
    rng = Random(f"rate {seed}")
    part = part_of(3, ring, double=True)
    job = Job({})
    blocks = filled(part, job, rng, 6)
    for block in blocks:
        # At least as many words leave as arrive.
        for _ in range(3 * ring + rng.randrange(3)):
            entry = draw_entry(rng, part.layout)
            job.get("t", token(part.layout, **entry))
            for n in range(ring):
                job.put("o", block[entry["at_k"], n])
        job.get("t", end_token(rng, part.layout, 2))
    ran = Run(GatherFeeder(part), [job])
    left, taken = ran.cycles["o"], ran.cycles["t"]
    assert left[0] == ran.cycles["i"][3 * ring - 1] + 2
    entries = [word >> part.layout.field("present").low & 1 for word in job.inputs["t"]]
    assert left[-1] - left[0] + 1 == len(left) + len(blocks) - 1
    pauses = [b - a for a, b in pairwise(left)]
    assert set(pauses) == {1, 2}
    assert pauses.count(2) == len(blocks) - 1
    spent = [b - a for a, b in pairwise(taken)]
    assert spent == [ring if entry else 1 for entry in entries[1:]]


@pytest.mark.parametrize("double", [True, False])
def test_a_tile_without_entries_waits_for_its_block(double: bool) -> None:
    """The tokens end before the first word arrives, and still belong to that block."""
    part = part_of(3, 2, double=double)
    layout, rng = part.layout, Random(7)
    words = list(range(1, 19))
    tokens = [
        end_token(rng, layout, 3),
        token(layout, present=1, at_k=2),
        end_token(rng, layout, 2),
        end_token(rng, layout, 2),
    ]
    built = GatherFeeder(part)
    source, entries = Source(built.i, words, begin=20), Source(built.t, tokens)
    o, onward = Sink(built.o), Sink(built.o_onward)
    run_agents(built, [source, entries, o, onward], until=lambda *_: entries.done and source.done)
    # The block of the first tile is 1 to 6.
    assert (o.words, onward.words) == ([11, 12], words)
    assert entries.cycles[0] == source.cycles[5] + 1


@pytest.mark.parametrize("double", [True, False])
def test_ends_of_other_levels_are_nothing(double: bool) -> None:
    """A block is for all tiles of an iteration of its level; it need not be there when inner ones
    end."""
    part = replace(part_of(2, 1, double=double, levels=("i", "k", "l")), level="k")
    layout, rng = part.layout, Random(8)
    ends = [0b100, 0b100, 0b110, 0b100, 0b111]
    tokens = [end_token(rng, layout, n) for n in ends[:2]]
    for n in ends[2:]:
        tokens += [token(layout, present=1, at_k=1), end_token(rng, layout, n)]
    built = GatherFeeder(part)
    source, entries = Source(built.i, [1, 2, 3, 4], begin=9), Source(built.t, tokens)
    o, onward = Sink(built.o), Sink(built.o_onward)
    run_agents(built, [source, entries, o, onward], until=lambda *_: entries.done)
    assert entries.cycles[:2] == [0, 1]
    assert o.words == [2, 4, 4][: len(o.words)]
    assert len(o.words) >= 2


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("full", ["here", "ahead"])
def test_words_stop_where_there_is_no_room(full: str, double: bool) -> None:
    """A copy without tokens accepts the words that fit. If the next copy accepts none, it accepts
    none either. It passes on only words that it accepts."""
    part = part_of(3, 2, double=double)
    built = GatherFeeder(part)
    source = Source(built.i, range(100))
    onward = Sink(built.o_onward, stall=float(full == "ahead"))
    run_agents(built, [source, onward], until=lambda _, cycle: cycle == 30)
    fits = 6 * (1 + double) if full == "here" else 0
    assert len(source.cycles) == fits
    assert onward.words == list(range(fits))


class Chain(wiring.Component):
    """Copies in a chain, which all receive the words of the first one."""

    def __init__(self, part: GatherPart, copies: int, *, registered: bool) -> None:
        self._copies = [GatherFeeder(part) for _ in range(copies)]
        self._registered = registered
        members = self._copies[0].signature.members
        ports = {f"{name}_{n}": members[name] for n in range(copies) for name in ("t", "o")}
        super().__init__({"i": members["i"], "o_onward": members["o_onward"], **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        behind: Any = wiring.flipped(self.i)
        for n, copy in enumerate(self._copies):
            m.submodules[f"copy_{n}"] = copy
            wiring.connect(m, behind, copy.i)
            behind = copy.o_onward
            if self._registered:
                m.submodules[f"between_{n}"] = between = SkidBuffer(copy.i.payload.shape())
                wiring.connect(m, copy.o_onward, between.i)
                behind = between.o
            for name in ("t", "o"):
                outside = wiring.flipped(getattr(self, f"{name}_{n}"))
                wiring.connect(m, getattr(copy, name), outside)
        wiring.connect(m, behind, wiring.flipped(self.o_onward))
        return m


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("seed", range(cases(20)))
def test_copies(seed: int, registered: bool) -> None:
    """Each copy receives all its words and tokens, however far it is behind the others."""
    rng = Random(f"copies {seed}")
    part, copies = draw(rng, most=3), 3
    jobs = []
    for _ in range(2):
        job = Job({})
        blocks = filled(part, job, rng, 3)
        for n in range(copies):
            own = Job({})
            statement(part, blocks, own, rng)
            job.inputs[f"t_{n}"] = own.inputs["t"]
            job.outputs[f"o_{n}"] = own.outputs.get("o", [])
        jobs.append(job)
    gap, stall = rng.choices([0.0, 0.3, 0.7], k=2)
    reset_at = rng.choice([None, rng.randrange(1, 60)])
    chain = Chain(part, copies, registered=registered)
    Run(chain, jobs, gap=gap, stall=stall, seed=seed, reset_at=reset_at)


def test_digits_are_bit_fields() -> None:
    """Depths: each digit takes the next power of two, but the outermost."""
    for extent, ring, double, depth in ((3, 5, True, 48), (5, 3, False, 20), (1, 1, False, 2)):
        part = part_of(extent, ring, double=double)
        built = GatherFeeder(part)
        Run(built, [job_of(part, Random(1))])
        assert built.depth == depth
