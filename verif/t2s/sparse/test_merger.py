"""Merged streams of entries against plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.spec.t2s.sparse_parts import CollectPart, Coordinate, GatherPart, TokenLayout
from tilewright.hw.t2s.sparse.array import Merger, ResultCollector
from tilewright.hw.t2s.sparse.fed_element import GatherFeeder, SparsePe
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases
from tilewright.verif.stream.agents import Sink, Source, run_agents
from tilewright.verif.stream.prover import never_broken
from tilewright.verif.t2s.hardware.jobs import Job, Run, Watched

from .element_work import draw_layout, draw_nothing, element_of, end_token, random_ends, token

pytestmark = pytest.mark.long

KINDS = ("intersection", "union")

Place = tuple[int, ...]
Tile = dict[Place, int]
"""Words by place."""


def draw_tile(rng: Random, layout: TokenLayout, order: tuple[str, ...], share: float) -> Tile:
    """Draws a tile in which each place has an entry with probability ``share``."""
    extents = {f"at_{one.index}": one.extent for one in layout.coordinates}
    extents["slot"] = layout.slots
    places = product(*(range(extents[name]) for name in order))
    bits = layout.word.container_bits
    return {place: rng.getrandbits(bits) for place in places if rng.random() < share}


def add_tile(
    job: Job, merger: Merger, tiles: tuple[Tile, Tile], rng: Random, nothing: float
) -> None:
    """A tile's tokens, in and out."""
    layout, order = merger.layout, merger.order
    # Two streams have the same ends; their other fields say nothing.
    ends = random_ends(rng, layout)
    for name, tile in zip(("i_a", "i_b"), tiles, strict=True):
        for place in sorted(tile):
            while rng.random() < nothing:
                job.get(name, token(layout, **draw_nothing(rng, layout)))
            at = dict(zip(order, place, strict=True))
            job.get(name, token(layout, value=tile[place], present=1, **at))
        while rng.random() < nothing:
            job.get(name, token(layout, **draw_nothing(rng, layout)))
        job.get(name, end_token(rng, layout, ends))
    places = set(tiles[0]) & set(tiles[1])
    if merger.kind == "union":
        places = set(tiles[0]) | set(tiles[1])
    for place in sorted(places):
        words = {f"value_{n}": tile.get(place, merger.pad) for n, tile in enumerate(tiles)}
        at = dict(zip(order, place, strict=True))
        if merger.kind == "union":
            words["there"] = sum((place in tile) << n for n, tile in enumerate(tiles))
        job.put("o", token(_merged(merger), present=1, **words, **at))
    job.put("o", token(_merged(merger), ends=ends))


def _merged(merger: Merger) -> TokenLayout:
    return merger.layout.merged(lacking=merger.kind == "union")


class Said(wiring.Component):
    """A merger that sends zeros in fields without a meaning, such as the other fields of an end."""

    def __init__(self, merger: Merger) -> None:
        self._merger = merger
        super().__init__(dict(merger.signature.members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.merger = merger = self._merger
        for name in ("i_a", "i_b"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(merger, name))
        m.d.comb += [
            self.o.valid.eq(merger.o.valid),
            merger.o.ready.eq(self.o.ready),
            self.o.payload.ends.eq(merger.o.payload.ends),
        ]
        with m.If(merger.o.payload.present):
            m.d.comb += self.o.payload.eq(merger.o.payload)
        return m


def draw(rng: Random, kind: str) -> Merger:
    layout = draw_layout(rng)
    order = ["slot", *(f"at_{one.index}" for one in layout.coordinates)]
    rng.shuffle(order)
    if layout.slots == 1 and rng.random() < 0.5:
        order.remove("slot")
    pad = rng.getrandbits(layout.word.container_bits)
    return Merger(layout, kind, order, pad=pad)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(cases(40)))
def test_random(seed: int, kind: str) -> None:
    """Tiles with few and with many entries, with none on one side or on both; in half of the runs
    there is a reset in the middle."""
    rng = Random(f"merger {seed}")
    merger = draw(rng, kind)
    jobs = [Job({}), Job({})]
    nothing = rng.choice([0.0, 0.4])
    for job in jobs:
        for _ in range(3):
            shares = rng.choices([0.0, 0.2, 0.5, 0.9, 1.0], k=2)
            tiles = [draw_tile(rng, merger.layout, merger.order, share) for share in shares]
            add_tile(job, merger, (tiles[0], tiles[1]), rng, nothing)
    gap, stall = rng.choices([0.0, 0.3, 0.7], k=2)
    reset_at = rng.choice([None, rng.randrange(1, 60)])
    Run(Said(merger), jobs, gap=gap, stall=stall, seed=seed, reset_at=reset_at)


def merger_of(kind: str) -> Merger:
    layout = TokenLayout(FORMATS["fp16"], (Coordinate("k", "kk", 16),), 2, ("i", "k"))
    return Merger(layout, kind, ("slot", "at_k"), pad=0x7C00)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(cases(20)))
def test_rate(seed: int, kind: str) -> None:
    """A cycle for each place of the union, and for each end; a token that says nothing costs none
    while the other stream is not waited for."""
    rng, merger, job = Random(f"rate {seed}"), merger_of(kind), Job({})
    steps = 0
    for _ in range(4):
        tiles = [draw_tile(rng, merger.layout, merger.order, 0.5) for _ in range(2)]
        add_tile(job, merger, (tiles[0], tiles[1]), rng, 0.0)
        steps += len(set(tiles[0]) | set(tiles[1])) + 1
    ran = Run(Said(merger), [job])
    assert ran.cycles["i_a"][-1] == ran.cycles["i_b"][-1] == steps - 1
    assert ran.cycles["o"][-1] == steps
    if kind == "union":
        assert all(b - a == 1 for a, b in pairwise(ran.cycles["o"]))


@pytest.mark.parametrize("names", [("i_a", "i_b"), ("i_a",), ("i_b",)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_says_nothing_is_dropped_at_once(kind: str, names: tuple[str, ...]) -> None:
    """The other stream may have any token, and the output may wait."""
    rng, merger, job = Random(9), merger_of(kind), Job({})
    for name in names:
        for _ in range(5):
            job.get(name, token(merger.layout, **draw_nothing(rng, merger.layout)))
    ran = Run(Said(merger), [job], stalled=("o",))
    for name in names:
        assert ran.cycles[name] == list(range(5))


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_waits_for_the_other(kind: str) -> None:
    """Entries also wait until it is known whether the other tensor has an entry before them."""
    merger = merger_of(kind)
    layout = merger.layout
    ended = [token(layout, ends=2), token(layout, at_k=3, value=5, present=1)]
    said = Said(merger)
    a, b = Source(said.i_a, ended), Source(said.i_b, [token(layout, ends=2)], begin=10)
    o = Sink(said.o)
    run_agents(said, [a, b, o], until=lambda _, cycle: cycle == 20)
    assert (a.cycles, b.cycles) == ([10], [10])
    assert (o.words, o.cycles) == ([token(layout.merged(lacking=kind == "union"), ends=2)], [11])


# Proofs that parts that accept entries keep the rules of streams, for every sequence of inputs.

LAYOUT = TokenLayout(FORMATS["int8"], (Coordinate("k", "kk", 2),), 1, ("i", "k"))


def gathers(*, double: bool) -> GatherFeeder:
    fill, read = (Count("kk", 2), Count("jj", 2)), (Count("jj", 2), Count("again", 2))
    part = GatherPart(
        "gathers", "B", 2, LAYOUT, fill, ("kk", "jj"), ("k",), read, ("jj",), (2, 2), double, "k"
    )
    return GatherFeeder(part)


def element(slots: int, *, halves: int) -> SparsePe:
    least = LaneSum(lanes=1, format="int8", accumulator="int32", ops=("minplus",), pipeline=1)
    return SparsePe(element_of(least, slots, halves=halves))


PARTS: dict[str, Any] = {
    "single": lambda: gathers(double=False),
    "double": lambda: gathers(double=True),
    "intersection": lambda: Merger(LAYOUT, "intersection", ("at_k",)),
    "union": lambda: Merger(LAYOUT, "union", ("at_k",), pad=3),
    "element of a half": lambda: element(2, halves=1),
    "element of two halves": lambda: element(2, halves=2),
    "element of one sum": lambda: element(1, halves=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_rules_of_streams(name: str, tmp_path: Path) -> None:
    assert never_broken(Watched(PARTS[name]()), tmp_path)


# Rows of results of several elements, in the order of the loops of rows.


@dataclass(frozen=True)
class _Rows:
    """Loops of rows by name, outermost first; ``ii`` are elements."""

    nest: tuple[tuple[str, int], ...]
    words: int

    @property
    def elements(self) -> int:
        return dict(self.nest).get("ii", 1)

    @property
    def part(self) -> CollectPart:
        counts = tuple(Count(name, extent) for name, extent in self.nest)
        return CollectPart(16, counts, "ii" if "ii" in dict(self.nest) else "", self.words)

    def results(self, blocks: int) -> tuple[list[list[int]], list[int]]:
        """Returns the words that each element sends, slot by slot, and all words in the order of
        the loops."""
        names = [name for name, _ in self.nest]
        slots = next((name for name in names if name != "ii"), "")
        sent: list[list[int]] = [[] for _ in range(self.elements)]
        for element in range(self.elements):
            counts = (range(blocks), range(dict(self.nest).get(slots, 1)), range(self.words))
            sent[element] += [_word(element, *place) for place in product(*counts)]
        rows: list[int] = []
        for block in range(blocks):
            for place in product(*(range(extent) for _, extent in self.nest)):
                at = dict(zip(names, place, strict=True))
                row = (at.get("ii", 0), block, at.get(slots, 0))
                rows += [_word(*row, number) for number in range(self.words)]
        return sent, rows


def _word(element: int, block: int, slot: int, number: int) -> int:
    return element << 12 | block << 9 | slot << 6 | number


ROWS = {
    "slots outside": _Rows((("iii", 3), ("ii", 4)), 2),
    "elements outside": _Rows((("ii", 3), ("iii", 5)), 3),
    "a word": _Rows((("iii", 4), ("ii", 2)), 1),
    "a word, elements outside": _Rows((("ii", 2), ("iii", 4)), 1),
    "no slots": _Rows((("ii", 5),), 6),
    "a slot": _Rows((("iii", 1), ("ii", 3)), 2),
    "one element": _Rows((("iii", 6),), 2),
    "one element of a loop": _Rows((("ii", 1), ("iii", 3)), 2),
    "nothing": _Rows((), 1),
    "a loop of another's name": _Rows((("ii", 2), ("word", 2)), 3),
}


def _clocked(collector: ResultCollector) -> Module:
    """Adds a register: a collector of one element has none, and a simulation needs a clock."""
    m = Module()
    m.submodules.collector = collector
    m.d.sync += Signal(name="ticks").eq(1)
    return m


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    """Three times all rows, at any pace, and a word a cycle where nothing waits."""
    rows = ROWS[name]
    sent, collected = rows.results(3)
    for gap, stall in ((0.0, 0.0), (0.4, 0.1), (0.1, 0.6)):
        collector = ResultCollector(rows.part, rows.elements)
        sources = [
            Source(port, words, gap=gap, seed=(name, n))
            for n, (port, words) in enumerate(zip(collector.i, sent, strict=True))
        ]
        sink = Sink(collector.o, stall=stall)
        ran = run_agents(
            _clocked(collector),
            [*sources, sink],
            until=lambda sim, cycle, taken=sink.words: len(taken) >= len(collected),  # type: ignore[misc]
        )
        assert sink.words == collected
        assert all(one.done for one in sources)
        if not gap and not stall:
            assert ran == len(collected)


def test_refusals() -> None:
    part = ROWS["slots outside"].part
    assert refusal(lambda: ResultCollector(part, 3)) == (
        "`elements` must be the trip count of its loop, 4, not 3"
    )
    part = CollectPart(16, (Count("i", None), Count("ii", 2)), "ii", 1)
    assert refusal(lambda: ResultCollector(part, 2)) == (
        "the trip count of i must be a constant, not a register's"
    )
