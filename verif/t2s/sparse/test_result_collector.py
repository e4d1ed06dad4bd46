"""Rows of results of several elements, in the order of the loops of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from amaranth.hdl import Module, Signal
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.spec.t2s.sparse_parts import CollectPart
from tilewright.hw.t2s.sparse.array import ResultCollector
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.stream.agents import Sink, Source, run_agents

pytestmark = pytest.mark.long


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
