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
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.loops import Loop
from tilewright.hw.spec.t2s.parts import Count, FeederPart, MoverPart
from tilewright.hw.spec.t2s.statements import Body, For
from tilewright.hw.t2s.copies import Feeder, Mover, mover
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import design_of, lowered
from tilewright.hw.t2s.nest import NestCounter
from tilewright.sim.t2s.python_functions import python_text
from tilewright.sim.t2s.sizes import trip_count
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.stream.agents import simulate
from tilewright.verif.t2s.designs import IN_HARDWARE, bounds_of
from tilewright.verif.t2s.hardware.jobs import Job, Run, is_own, iterations, random_words
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


# Counters of loop nests against loops in plain Python.

TRIP_BITS_NEST = 3


def draw(rng: Random) -> list[Count]:
    nest = [Count(f"l{n}", rng.choice([None, 1, 2, 3, 4, 5])) for n in range(rng.randrange(4))]
    nest.append(Count("inner", rng.choice([None, 2, 3])))
    if rng.random() < 0.5:
        turn = Count("turn", None, turn=True, own_last=rng.random() < 0.5)
        nest.insert(rng.randrange(len(nest) + 1), turn)
    return nest


@pytest.mark.parametrize("seed", range(cases(160)))
def test_random(seed: int) -> None:
    """All that may be asked, in every iteration, twice around with each of two sets of trips."""
    rng = Random(seed)
    nest = draw(rng)
    asked = {
        what: [one.name for one in nest if rng.random() < 0.5]
        for what in ("values", "firsts", "lasts")
    }
    built = NestCounter(nest, TRIP_BITS_NEST, ends=True, **asked)
    counted = {one.name for one in nest if one.extent != 1}

    async def bench(sim: Any) -> None:
        for _ in range(2):
            trips = {one.name: rng.randrange(1, 5) for one in nest if one.from_register}
            copies = rng.randrange(4)
            for name, value in trips.items():
                sim.set(getattr(built, f"trips_{name}"), value)
            if any(one.turn for one in nest):
                sim.set(built.copies, copies)
            for place in 2 * list(iterations(nest, trips, copies)):
                while rng.random() < 0.2:
                    sim.set(built.advance, 0)
                    await sim.tick()
                sim.set(built.advance, 1)
                for name, (n, extent) in place.items():
                    wanted = {"values": n, "firsts": n == 0, "lasts": n == extent - 1}
                    for what, names in asked.items():
                        if name in names and name in counted:
                            assert sim.get(getattr(built, f"{what[:-1]}_{name}")) == wanted[what]
                own = is_own(nest, place)
                if any(one.turn for one in nest):
                    assert sim.get(built.own) == own
                others = (place[one.name] for one in nest if not one.turn)
                assert sim.get(built.last) == (own and all(n == trips - 1 for n, trips in others))
                await sim.tick()

    simulate(built, bench)


def test_what_is_not_asked_costs_nothing() -> None:
    """Loops of one iteration have no counter, neighbours of constant trip counts one together."""
    nest = [Count("a", 3), Count("b", None), Count("c", 4), Count("one", 1), Count("d", 5)]
    found = {
        "": [("a", 3), ("b", None), ("c_d", 20)],
        "a": [("a", 3), ("b", None), ("c_d", 20)],
        "d": [("a", 3), ("b", None), ("c", 4), ("d", 5)],
    }
    for name, counted in found.items():
        built = NestCounter(nest, TRIP_BITS_NEST, firsts=[name], ends=True)
        assert [(one.name, one.extent) for one in built.counted] == counted
        text = emit_component(built, name="nest").verilog
        assert text.count("<= 0") + text.count("'h0;") >= len(counted)
        assert ("first_" in text) == bool(name)


def test_a_loop_called_like_two_others() -> None:
    """Loops that are counted together are not taken for it."""
    nest = [Count("a", 2), Count("b", 2), Count("a_b", 3)]
    built = NestCounter(nest, TRIP_BITS_NEST, values=["a_b"], lasts=["a_b"])

    async def bench(sim: Any) -> None:
        sim.set(built.advance, 1)
        for place in 2 * list(iterations(nest, {}, 0)):
            n, extent = place["a_b"]
            assert (sim.get(built.value_a_b), sim.get(built.last_a_b)) == (n, n == extent - 1)
            await sim.tick()

    simulate(built, bench)
