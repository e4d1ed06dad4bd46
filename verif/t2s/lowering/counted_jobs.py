"""Jobs of designs whose words are counted through queues."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.periods import element_loops
from tilewright.hw.t2s.lowering.periods import Period
from tilewright.hw.t2s.lowering.queues import Queues, depth_of

FEW = 3000
"""Words that are moved one at a time."""


def registers(design: Design) -> list[str]:
    """Loops whose trip counts registers have."""
    return [one.name for one in element_loops(design.program) if one.extent is None]


def longer(design: Design) -> list[str]:
    """Channels whose queues hold more than they have to anyway."""
    usual = {one.channel: depth_of(design, one, {}) for one in design.links}
    return sorted({one.channel for one in design.links if one.depth > usual[one.channel]})


def rooms_of(design: Design, queues: Queues, less: str = "") -> list[int]:
    """Returns the capacity of every queue; the channel ``less`` has one word less."""
    more = {one.channel: one.depth - depth_of(design, one, {}) for one in design.links}
    return queues.rooms({name: words - (name == less) for name, words in more.items()})


def words_of(period: Period) -> int:
    """Returns the number of words that all works move."""
    return sum(work.times * one[0] for work in period[1] for one in work.segments)


def goes_on(period: Period, rooms: list[int], rng: np.random.Generator) -> bool:
    """Returns whether the period ends when words move one at a time, in random order."""
    levels, works = list(period[0]), period[1]
    single = [
        [(takes, puts) for words, takes, puts in work.segments for _ in range(words)] * work.times
        for work in works
    ]
    left = {n: iter(one) for n, one in enumerate(single)}
    following = {n: next(one) for n, one in left.items()}
    moved = True
    while moved:
        moved = False
        for n in rng.permutation(list(left)):
            for _ in range(int(rng.integers(1, 6))):
                takes, puts = following[n]
                if not all(levels[q] for q in takes) or any(levels[q] >= rooms[q] for q in puts):
                    break
                for queue, by in (*((q, -1) for q in takes), *((q, 1) for q in puts)):
                    levels[queue] += by
                moved = True
                if (one := next(left[n], None)) is None:
                    del left[n]
                    break
                following[n] = one
    return not left
