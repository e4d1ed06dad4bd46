"""Feeders with buffers against loops in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.parts import Count, FeederPart, MoverPart
from tilewright.hw.t2s.copies import Collector, Drainer, Feeder, Mover, mover
from tilewright.verif.kit.sampling import cases
from tilewright.verif.stream.agents import Sink, Source, run_agents
from tilewright.verif.stream.prover import Colliding, never_broken
from tilewright.verif.t2s.hardware.jobs import Job, Run, is_own, iterations, random_words

from .jobs import Watched

pytestmark = pytest.mark.long

TRIP_BITS = 4


@dataclass
class Drawn:
    """A feeder, the number of copies after it, and its jobs."""

    part: FeederPart
    copies: int
    jobs: list[Job]

    @property
    def fill_words(self) -> int:
        """Returns the words that arrive for a block, including those of other copies."""
        return prod(self.part.extents) * (self.copies + 1 if self.part.scatters else 1)

    def read_words(self, job: Job) -> int:
        """Words that are sent of a block."""
        return prod(one.extent or job.trips[one.name] for one in self.part.read)


def draw(rng: Random, *, most: int = 4) -> Drawn:
    extents = tuple(rng.randrange(1, most + 1) for _ in range(rng.randrange(4)))
    digits = [Count(f"d{n}", extent) for n, extent in enumerate(extents)]
    fill, read = list(digits), list(digits)
    scatters = rng.random() < 0.6
    if scatters:
        fill.append(Count("turn", None, turn=True, own_last=rng.random() < 0.5))
    read += [Count(f"r{n}", rng.choice([None, 1, 2, 3])) for n in range(rng.randrange(3))]
    rng.shuffle(fill)
    rng.shuffle(read)
    around = [Count(f"a{n}", rng.choice([None, 1, 2, 3])) for n in range(rng.randrange(3))]
    flagged = rng.random() < 0.6
    flags = [one.name for one in (*around, *read) if flagged and rng.random() < 0.5]
    names = tuple(one.name for one in digits)
    double = rng.random() < 0.6
    part = FeederPart(
        "feeds", 8, tuple(fill), names, tuple(around), tuple(read), names, extents, double,
        tuple(flags), flagged,
    )  # fmt: skip
    copies = rng.randrange(4)
    jobs = []
    for _ in range(2):
        trips = {one.name: rng.randrange(1, 4) for one in (*around, *read) if one.from_register}
        jobs.append(statement(part, copies, trips, rng, rounds=2))
    return Drawn(part, copies, jobs)


def statement(
    part: FeederPart, copies: int, trips: dict[str, int], rng: Random, rounds: int
) -> Job:
    """Runs the function's loops: they fill a block, then they read it."""
    job = Job(trips)
    words = random_words(rng, part.word_bits)
    for _ in range(rounds):
        for outer in iterations(part.around, trips, copies):
            block: dict[tuple[int, ...], int] = {}
            for place in iterations(part.fill, trips, copies):
                word = job.get("i", next(words))
                if is_own(part.fill, place):
                    block[tuple(place[name][0] for name in part.fill_place)] = word
                else:
                    job.put("o_onward", word)
            for inner in iterations(part.read, trips, copies):
                place = outer | inner
                first = all(place[name][0] == 0 for name in part.flags)
                last = all(place[name][0] == place[name][1] - 1 for name in part.flags)
                word = block[tuple(place[name][0] for name in part.read_place)]
                flags = (first, last) if part.flagged else ()
                job.put("o", word, flags=flags, bits=part.word_bits)
    return job


@pytest.mark.parametrize("seed", range(cases(160)))
def test_random(seed: int) -> None:
    """Nests are drawn, and several jobs run; half of the runs have a reset in the middle."""
    rng = Random(f"random {seed}")
    drawn = draw(rng)
    gap, stall = rng.choices([0.0, 0.3, 0.7], k=2)
    reset_at = rng.choice([None, rng.randrange(1, 60)])
    built = Feeder(drawn.part, TRIP_BITS)
    Run(
        built,
        drawn.jobs,
        copies=drawn.copies,
        gap=gap,
        stall=stall,
        seed=seed,
        reset_at=reset_at,
    )


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("seed", range(cases(40)))
def test_rate(seed: int, double: bool) -> None:
    """Two halves: a word leaves every cycle, or comes every cycle, whatever there is more of. One:
    as many cycles a block as words come and leave."""
    drawn = draw(Random(f"rate {seed}"))
    part = replace(drawn.part, double=double)
    job = drawn.jobs[0]
    came, sent = drawn.fill_words, drawn.read_words(job)
    blocks = len(job.outputs["o"]) // sent
    ran = Run(Feeder(part, TRIP_BITS), [job], copies=drawn.copies)
    entered, left = ran.cycles["i"], ran.cycles["o"]
    first = left[0] - entered[0]
    assert first <= came + 1
    if double and sent >= came:
        assert left == list(range(left[0], left[0] + blocks * sent))
    elif double:
        assert entered == list(range(blocks * came))
    else:
        starts = left[::sent]
        assert all(b - a <= came + sent for a, b in pairwise(starts))


def test_words_of_others_do_not_wait() -> None:
    """While a copy's own block is stuck, all words for later copies pass, up to its next own
    word."""
    turn = Count("turn", None, turn=True)
    digit = Count("d", 3)
    part = FeederPart("f", 8, (turn, digit), ("d",), (), (digit,), ("d",), (3,), double=False)
    job = statement(part, 2, {}, Random(1), rounds=1)
    del job.outputs["o"]
    ran = Run(Feeder(part, TRIP_BITS), [job], copies=2, stalled=("o",))
    assert ran.cycles["i"] == list(range(9))


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("extents", [(), (3,)])
def test_valid_waits_for_no_ready(extents: tuple[int, ...], double: bool) -> None:
    """The feeder offers a word without a ready, and accepts words while the buffer has space."""
    digits = tuple(Count(f"d{n}", extent) for n, extent in enumerate(extents))
    names = tuple(one.name for one in digits)
    part = FeederPart("f", 8, digits, names, (), digits, names, extents, double)
    built = Feeder(part, TRIP_BITS)
    source, sink = Source(built.i, range(100)), Sink(built.o, stall=1.0)
    offered = []

    def until(sim: Any, cycle: int) -> bool:
        offered.append(sim.get(built.o.valid))
        return cycle == 12

    run_agents(built, [source, sink], until=until)
    block = prod(extents)
    assert offered.index(1) == (block if extents else block - 1)
    assert len(source.cycles) == block * (1 + double)


@pytest.mark.parametrize("double", [True, False])
def test_no_word_is_read_while_it_is_written(double: bool, tmp_path: Path) -> None:
    """So the buffer may leave open what such a read finds."""
    digits = (Count("d0", 2), Count("d1", 3))
    names = ("d0", "d1")
    part = FeederPart("f", 8, digits, names, (), digits, names, (2, 3), double)
    assert never_broken(Colliding(Feeder(part, TRIP_BITS), "buffer"), tmp_path)


def test_digits_are_bit_fields() -> None:
    """Depths: each digit takes the next power of two, but the outermost."""
    depths = {(3, 5, 6): 3 * 8 * 8, (1, 5, 6): 5 * 8, (5,): 5, (): 1, (1, 1): 1}
    digits = tuple(Count(f"d{n}", 2) for n in range(3))
    for extents, depth in depths.items():
        names = tuple(one.name for one in digits[: len(extents)])
        for double in (False, True):
            nest = tuple(Count(name, n) for name, n in zip(names, extents, strict=True))
            part = FeederPart("f", 8, nest, names, (), nest, names, extents, double)
            built = Feeder(part, TRIP_BITS)
            Run(built, [statement(part, 0, {}, Random(1), rounds=3)])
            assert built.depth == depth * (1 + double)


# Functions that move words keep the rules of streams, for every sequence of inputs.

BITS = 2
TRIP_BITS_FORMAL = 2

TURN = Count("turn", None, turn=True)
DIGIT = Count("digit", 3)
SUMMED = Count("summed", None)
"""Loop whose trip count the bench keeps at 1 or more."""


def feeder(double: bool, *, digit: Count) -> Feeder:
    fill, read = (TURN, digit), (digit, Count("again", 2))
    part = FeederPart(
        "feeds", BITS, fill, (digit.name,), (SUMMED,), read, (digit.name,), (digit.extent or 1,),
        double, (SUMMED.name,), flagged=True,
    )  # fmt: skip
    return Feeder(part, TRIP_BITS_FORMAL)


def moves(**how: Any) -> Mover:
    part = MoverPart("moves", "drainer", BITS, (SUMMED, TURN, DIGIT), **how)
    return Mover(part, TRIP_BITS_FORMAL)


PARTS: dict[str, Any] = {
    "gathers": lambda: moves(gathers=True),
    "scatters": lambda: moves(scatters=True, flags=(SUMMED.name,), flagged=True),
    "single": lambda: feeder(False, digit=DIGIT),
    "double": lambda: feeder(True, digit=DIGIT),
    "register": lambda: feeder(False, digit=Count("digit", 1)),
    "registers": lambda: feeder(True, digit=Count("digit", 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_rules_of_streams(name: str, tmp_path: Path) -> None:
    assert never_broken(Watched(PARTS[name]()), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that flags change if trip counts do."""
    assert not never_broken(Watched(PARTS["scatters"](), steady=False), tmp_path)


# Movers against loops in plain Python.


@dataclass
class DrawnMover:
    """A mover, the number of copies after it, and its jobs."""

    part: MoverPart
    copies: int
    jobs: list[Job]


def draw_mover(rng: Random) -> DrawnMover:
    gathers, scatters = rng.choice([(True, False), (False, True), (False, False)])
    nest = [Count(f"l{n}", rng.choice([None, 1, 1, 2, 3, 4])) for n in range(rng.randrange(4))]
    if gathers or scatters:
        turn = Count("turn", None, turn=True, own_last=rng.random() < 0.5)
        nest.insert(rng.randrange(len(nest) + 1), turn)
    flagged = rng.random() < 0.5
    flags = tuple(one.name for one in nest if not one.turn and rng.random() < 0.6)
    part = MoverPart(
        "moves", "drainer", 8, tuple(nest), gathers, scatters, flags if flagged else (), flagged
    )
    copies = rng.randrange(4)
    jobs = []
    for _ in range(2):
        trips = {one.name: rng.randrange(1, 5) for one in nest if one.from_register}
        jobs.append(statement_mover(part, copies, trips, rng, rounds=3))
    return DrawnMover(part, copies, jobs)


def statement_mover(
    part: MoverPart, copies: int, trips: dict[str, int], rng: Random, rounds: int
) -> Job:
    """Runs the function's loops."""
    job = Job(trips)
    words = random_words(rng, part.word_bits)
    for _ in range(rounds):
        for place in iterations(part.nest, trips, copies):
            own = is_own(part.nest, place)
            word = job.get("i" if own or not part.gathers else "i_behind", next(words))
            if part.scatters and not own:
                job.put("o_onward", word)
                continue
            first = all(place[name][0] == 0 for name in part.flags)
            last = all(place[name][0] == place[name][1] - 1 for name in part.flags)
            flags = (first, last) if part.flagged else ()
            job.put("o", word, flags=flags, bits=part.word_bits)
    return job


@pytest.mark.parametrize("seed", range(cases(160)))
def test_mover_random(seed: int) -> None:
    """Nests are drawn, and several jobs run; the same runs follow with a reset in the middle."""
    rng = Random(seed)
    drawn = draw_mover(rng)
    gap, stall = rng.choices([0.0, 0.3, 0.7], k=2)
    reset_at = rng.choice([None, rng.randrange(1, 20)])
    built = mover(drawn.part, TRIP_BITS)
    Run(
        built,
        drawn.jobs,
        copies=drawn.copies,
        gap=gap,
        stall=stall,
        seed=seed,
        reset_at=reset_at,
    )


@pytest.mark.parametrize("seed", range(cases(40)))
def test_mover_rate(seed: int) -> None:
    """One word moves per cycle, in the cycle in which it arrives."""
    drawn = draw_mover(Random(f"rate {seed}"))
    ran = Run(mover(drawn.part, TRIP_BITS), drawn.jobs[:1], copies=drawn.copies)
    came = sorted(n for name, cycles in ran.cycles.items() if name[0] == "i" for n in cycles)
    left = sorted(n for name, cycles in ran.cycles.items() if name[0] == "o" for n in cycles)
    assert came == left == list(range(len(came)))


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("drainer", Drainer.__doc__),
        ("collector", Collector.__doc__),
        ("feeder", "Passes on a word an iteration of a loop nest"),
    ],
)
def test_classes(role: str, said: str) -> None:
    """Each role has its own class, so that the hardware's text names the purpose of a module."""
    text = emit_component(mover(MoverPart("f", role, 8), TRIP_BITS), name="f").verilog
    assert f"// {said}" in text
