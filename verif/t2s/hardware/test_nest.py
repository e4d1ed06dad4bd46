"""Counters of loop nests against loops in plain Python."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.t2s.nest import NestCounter
from tilewright.verif.kit.sampling import cases
from tilewright.verif.stream.simulated import simulate
from tilewright.verif.t2s.hardware.jobs import is_own, iterations

pytestmark = pytest.mark.long

TRIP_BITS = 3


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
    built = NestCounter(nest, TRIP_BITS, ends=True, **asked)
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
        built = NestCounter(nest, TRIP_BITS, firsts=[name], ends=True)
        assert [(one.name, one.extent) for one in built.counted] == counted
        text = emit_component(built, name="nest").verilog
        assert text.count("<= 0") + text.count("'h0;") >= len(counted)
        assert ("first_" in text) == bool(name)


def test_a_loop_called_like_two_others() -> None:
    """Loops that are counted together are not taken for it."""
    nest = [Count("a", 2), Count("b", 2), Count("a_b", 3)]
    built = NestCounter(nest, TRIP_BITS, values=["a_b"], lasts=["a_b"])

    async def bench(sim: Any) -> None:
        sim.set(built.advance, 1)
        for place in 2 * list(iterations(nest, {}, 0)):
            n, extent = place["a_b"]
            assert (sim.get(built.value_a_b), sim.get(built.last_a_b)) == (n, n == extent - 1)
            await sim.tick()

    simulate(built, bench)
