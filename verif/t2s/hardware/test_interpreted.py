"""Functions of compiled designs: their hardware beside the interpreter, which runs their text."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.loops import Loop
from tilewright.hw.spec.t2s.parts import FeederPart, MoverPart
from tilewright.hw.spec.t2s.statements import Body, For
from tilewright.hw.t2s.copies import Feeder, Mover, mover
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import design_of, lowered
from tilewright.sim.t2s.as_python.functions import python_text
from tilewright.sim.t2s.sizes import trip_count
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.t2s.designs import IN_HARDWARE, bounds_of
from tilewright.verif.t2s.hardware.jobs import Job, Run, random_words
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

pytestmark = pytest.mark.long

TRIP_BITS = 4

Part = FeederPart | MoverPart


class End:
    """One end of a channel, as the interpreter sees it: there is always a word, and room for one.

    Parameters
    ----------
    summed: trip counts of the loops that are summed over
    """

    def __init__(
        self, channel: str, job: Job, part: Part, words: Iterator[int], summed: Mapping[str, int]
    ) -> None:
        self._along = channel.removeprefix(f"{part.name}_")
        self._job, self._part, self._words, self._summed = job, part, words, summed

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 0

    def popleft(self) -> int:
        return self._job.get("i_behind" if self._along == "gather" else "i", next(self._words))

    def append(self, word: int) -> None:
        if self._along == "scatter":
            self._job.put("o_onward", word)
        elif not self._part.flagged:
            self._job.put("o", word)
        else:
            # The caller's frame has the place of the function in its loops.
            at = sys._getframe(1).f_locals
            first = all(at[f"v_{name}"] == 0 for name in self._summed)
            last = all(at[f"v_{name}"] == trips - 1 for name, trips in self._summed.items())
            self._job.put("o", word, flags=(first, last), bits=self._part.word_bits)


class Ends(dict[Any, End]):
    """Ends of channels, made when they are first used."""

    def __init__(self, job: Job, part: Part, summed: Mapping[str, int], seed: int) -> None:
        super().__init__()
        self._given = job, part, random_words(Random(seed), part.word_bits), summed

    def __missing__(self, key: tuple[str, tuple[int, ...]]) -> End:
        self[key] = End(key[0], *self._given)
        return self[key]


def interpreted(
    design: Design, part: Part, place: tuple[int, ...], bounds: Mapping[str, int], seed: int
) -> Job:
    """Interprets a copy of a function for given bounds."""
    program = design.program
    loops = loops_of(program.function(program.name).body)
    trips = {name: trip_count(loop, bounds) for name, loop in loops.items()}
    job = Job(trips)
    summed = {name: trips[name] for name, loop in loops.items() if loop.reduces}
    scope: dict[str, Any] = {
        "queues": Ends(job, part, summed, seed),
        "depth_of": defaultdict(lambda: 1),
        "moved": [0],
        "product": product,
        "word_of": lambda word: word,
    }
    exec(python_text(program.function(part.name), bounds), scope)
    (run,) = scope["run"](*place)
    assert list(run) == []
    return job


def loops_of(body: Body) -> dict[str, Loop]:
    """Returns all loops of a function, by name."""
    found: dict[str, Loop] = {}
    for one in body:
        if isinstance(one, For):
            found |= {one.loop.name: one.loop} | loops_of(one.body)
    return found


def component(part: Part) -> Feeder | Mover:
    return Feeder(part, TRIP_BITS) if isinstance(part, FeederPart) else mover(part, TRIP_BITS)


def check(design: Design, bounds: Mapping[str, int], seed: int) -> int:
    """Runs two jobs on each different copy of each function. Returns the number of copies."""
    rng = Random(seed)
    ran = 0
    # A part that packs vectors does not interpret or count words.
    parts: list[Part] = [*design.feeders, *(one for one in design.movers if not one.packs)]
    for part in parts:
        apart = {one.ahead: one for one in design.copies if one.function == part.name}
        for copy in apart.values():
            smaller = {name: rng.randint(1, bound) for name, bound in bounds.items()}
            jobs = [
                interpreted(design, part, copy.place, given, seed) for given in (smaller, bounds)
            ]
            Run(
                component(part),
                jobs,
                copies=copy.ahead,
                gap=0.3,
                stall=0.3,
                seed=seed,
            )
            ran += 1
    return ran


@pytest.mark.parametrize("name", slow_but(["gemm"], sorted(IN_HARDWARE)))
def test_designs(name: str) -> None:
    design = design_of(T2sConfig(design=name, largest=2))
    bounds = {index: min(bound, 4) for index, bound in bounds_of(IN_HARDWARE[name]).items()}
    assert check(design, bounds, seed=1) >= 3


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_random_mappings(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only mappings with hardware count. The depths of queues do not matter here."""
    monkeypatch.setattr("tilewright.hw.t2s.lowering.design.with_depths", lambda found, said: found)
    wanted, ran = cases(24), 0
    for seed in range(100 * wanted):
        rng = np.random.default_rng([seed, *map(ord, kernel)])
        try:
            design = lowered(random_mapping(kernel, rng), T2sConfig())
        except (MappingError, ValueError):
            continue
        check(design, dict.fromkeys(design.program.indices, 3), seed)
        ran += 1
        if ran == wanted:
            break
    assert ran == wanted
