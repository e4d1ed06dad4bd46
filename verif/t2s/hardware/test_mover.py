"""Movers against loops in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.parts import Count, MoverPart
from tilewright.hw.t2s.copies import Collector, Drainer, mover
from tilewright.verif.kit.sampling import cases
from tilewright.verif.t2s.hardware.jobs import Job, Run, is_own, iterations, random_words

pytestmark = pytest.mark.long

TRIP_BITS = 4


@dataclass
class Drawn:
    """A mover, the number of copies after it, and its jobs."""

    part: MoverPart
    copies: int
    jobs: list[Job]


def draw(rng: Random) -> Drawn:
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
        jobs.append(statement(part, copies, trips, rng, rounds=3))
    return Drawn(part, copies, jobs)


def statement(part: MoverPart, copies: int, trips: dict[str, int], rng: Random, rounds: int) -> Job:
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
def test_random(seed: int) -> None:
    """Nests are drawn, and several jobs run; the same runs follow with a reset in the middle."""
    rng = Random(seed)
    drawn = draw(rng)
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
def test_rate(seed: int) -> None:
    """One word moves per cycle, in the cycle in which it arrives."""
    drawn = draw(Random(f"rate {seed}"))
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
