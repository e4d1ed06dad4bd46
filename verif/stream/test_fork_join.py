"""Fork and join: which output accepts which transfer, and when; reference streams run under random
pauses."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest
from tilewright.hw.stream.fork_join import Fork, Join
from tilewright.verif.kit.commands import refusal
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.quick

CYCLES = 1500
BITS = 12
INPUTS = ("a", "b", "c")
RTL = NativeParts(
    "fork_join",
    {
        **{f"eager_{n}": partial(Fork, BITS, n, eager=True) for n in (2, 3)},
        **{f"lazy_{n}": partial(Fork, BITS, n) for n in (2, 3)},
        "join": lambda: Join(dict.fromkeys(INPUTS, BITS)),
    },
)


def targets(number: int, outputs: int) -> int:
    """Returns the outputs of a transfer: the set changes from transfer to transfer and is sometimes
    empty."""
    return number * 7 // 3 % (1 << outputs)


@pytest.mark.parametrize("clear", [0.0, 0.05])
@pytest.mark.parametrize("outputs", [2, 3])
def test_an_eager_fork(outputs: int, clear: float) -> None:
    """Each output accepts each of its transfers once and in order, as soon as it is ready. Only the
    word at the input during a clear is offered to all once more."""
    part, chosen = RTL[f"eager_{outputs}"], random.Random(outputs)
    seen: Counter[str] = Counter()

    async def bench(sim: Any) -> None:
        number, waits, done = 0, False, 0
        for _ in range(CYCLES):
            valid = waits or chosen.random() < 0.7
            ready = sum(int(chosen.random() < 0.5) << n for n in range(outputs))
            clears = chosen.random() < clear
            to = targets(number, outputs)
            sim.set(part.i.valid, int(valid))
            sim.set(part.i.payload, number)
            sim.set(part.to, to)
            sim.set(part.clear, int(clears))
            for n, o in enumerate(part.o):
                sim.set(o.ready, ready >> n & 1)
            offered = sum(sim.get(o.valid) << n for n, o in enumerate(part.o))
            assert offered == (to & ~done if valid else 0)
            if offered:
                assert {sim.get(o.payload) for o in part.o} == {number}
            done |= offered & ready
            moves = valid and not to & ~done
            assert sim.get(part.i.ready) & int(valid) == int(moves)
            seen["ahead"] += bool(valid and done and not moves)
            seen["moved"] += moves
            seen["cleared"] += bool(clears and done and not moves)
            waits = valid and not moves
            if moves or clears:
                done = 0
            number += moves
            await sim.tick()

    RTL.simulate(f"eager_{outputs}", bench)
    assert seen["moved"] > CYCLES // 5
    assert seen["ahead"] > 100
    assert (seen["cleared"] > 10) == (clear > 0)


@pytest.mark.parametrize("outputs", [2, 3])
def test_a_lazy_fork(outputs: int) -> None:
    """All that a transfer is for take it in the same cycle, as soon as all are ready."""
    part, chosen = RTL[f"lazy_{outputs}"], random.Random(outputs)
    seen: Counter[str] = Counter()

    async def bench(sim: Any) -> None:
        number, waits = 0, False
        ready = 0
        for _ in range(CYCLES):
            valid = waits or chosen.random() < 0.7
            # One that is ready stays so.
            ready |= sum(int(chosen.random() < 0.5) << n for n in range(outputs))
            to = targets(number, outputs)
            sim.set(part.i.valid, int(valid))
            sim.set(part.i.payload, number)
            sim.set(part.to, to)
            for n, o in enumerate(part.o):
                sim.set(o.ready, ready >> n & 1)
            moves = valid and not to & ~ready
            for n, o in enumerate(part.o):
                others = to & ~(1 << n)
                assert sim.get(o.valid) == (valid and to >> n & 1 and not others & ~ready)
                assert sim.get(o.payload) == number
            assert sim.get(part.i.ready) == (not to & ~ready)
            seen["moved"] += moves
            seen["some"] += moves and 0 < to < (1 << outputs) - 1
            seen["waited"] += valid and not moves
            waits = valid and not moves
            if moves:
                ready &= ~to
            number += moves
            await sim.tick()

    RTL.simulate(f"lazy_{outputs}", bench)
    assert min(seen["moved"], seen["some"], seen["waited"]) > CYCLES // 8


def test_a_fork_left_alone_serves_all() -> None:
    part, seen = RTL["lazy_3"], []

    async def bench(sim: Any) -> None:
        sim.set(part.i.valid, 1)
        for ready in range(8):
            for n, o in enumerate(part.o):
                sim.set(o.ready, ready >> n & 1)
            seen.append(sim.get(part.i.ready))

    RTL.simulate("lazy_3", bench)
    assert seen == [0] * 7 + [1]


@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_a_join(stall: float) -> None:
    """A transfer of every input that is needed, all in one cycle, in the order of each."""
    names = INPUTS
    part, chosen = RTL["join"], random.Random(3)
    seen: Counter[str] = Counter()

    async def bench(sim: Any) -> None:
        sent = dict.fromkeys(names, 0)
        waits = dict.fromkeys(names, False)
        moved = 0
        for _ in range(CYCLES):
            # The needs alternate; at least one input is needed.
            needs = {"a": moved % 7 != 0, "b": moved % 3 != 0, "c": moved % 2 == 0}
            valid = {name: waits[name] or chosen.random() < 0.6 for name in names}
            ready = chosen.random() >= stall
            for name in names:
                sim.set(getattr(part, f"i_{name}").valid, int(valid[name]))
                sim.set(getattr(part, f"i_{name}").payload, sent[name])
                sim.set(getattr(part, f"needs_{name}"), int(needs[name]))
            sim.set(part.o.ready, int(ready))
            there = all(valid[name] for name in names if needs[name])
            assert sim.get(part.o.valid) == there
            moves = there and ready
            for name in names:
                i = getattr(part, f"i_{name}")
                takes = moves and needs[name]
                assert (sim.get(i.ready) and valid[name]) == takes
                if there and needs[name]:
                    assert sim.get(part.o.payload[name]) == sent[name]
                sent[name] += takes
                waits[name] = valid[name] and not takes
                seen[name] += takes
            seen["waited"] += there and not moves
            moved += moves
            await sim.tick()

    RTL.simulate("join", bench)
    assert min(seen[name] for name in names) > CYCLES // 10
    assert seen["a"] > max(seen["b"], seen["c"])
    assert (seen["waited"] > 100) == (stall > 0)


def test_what_cannot_be() -> None:
    assert refusal(lambda: Fork(BITS, 1)) == "`outputs` must be at least 2, not 1"
    message = "`payloads` must be of at least 2 inputs, not 1"
    assert refusal(lambda: Join({"a": BITS})) == message
