"""Stream plumbing: nothing lost, repeated or reordered, the stream rules, throughput, fairness."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tilewright.hw.stream.multiplex import Gate, RoundRobin
from tilewright.hw.stream.queue import DeepQueue, Queue
from tilewright.hw.stream.stream_registers import OutputRegister, SkidBuffer
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import RigidPipeline

pytestmark = pytest.mark.quick

BITS = 16
PARTS: dict[str, tuple[Callable[[], Any], int, int]] = {
    # what builds it, its latency, how many transfers it holds
    "skid_buffer": (lambda: SkidBuffer(BITS), 1, 2),
    "skid_buffer_direct": (lambda: SkidBuffer(BITS, output_register=False), 0, 1),
    "output_register": (lambda: OutputRegister(BITS), 1, 1),
    "queue_1": (lambda: Queue(BITS, 1), 1, 1),
    "queue_2": (lambda: Queue(BITS, 2), 1, 2),
    "queue_5": (lambda: Queue(BITS, 5), 1, 5),
    "queue_8": (lambda: Queue(BITS, 8), 1, 8),
    "deep_queue_2": (lambda: DeepQueue(BITS, 2), 2, 3),
    "deep_queue_5": (lambda: DeepQueue(BITS, 5), 2, 6),
    "deep_queue_8": (lambda: DeepQueue(BITS, 8), 2, 9),
    "deep_queue_register_2": (lambda: DeepQueue(BITS, 2, register=True), 3, 4),
    "deep_queue_register_5": (lambda: DeepQueue(BITS, 5, register=True), 3, 7),
    "round_robin": (lambda: RoundRobin(BITS, 1), 1, 2),
    "valid_pipeline": (lambda: RigidPipeline(BITS, 3), 3, 3),
    "valid_pipeline_skid": (lambda: RigidPipeline(BITS, 2, skid=True), 3, 4),
}
FULL_RATE = [name for name in PARTS if name != "queue_1"]
CLEARABLE: dict[str, Callable[[], Any]] = {
    "skid_buffer": lambda: SkidBuffer(BITS, clearable=True),
    "output_register": lambda: OutputRegister(BITS, clearable=True),
    **{name: part[0] for name, part in PARTS.items() if name.startswith(("deep", "valid"))},
}
INPUTS = [2, 3, 5]
RTL = NativeParts(
    "stream_parts",
    {
        **{name: part[0] for name, part in PARTS.items()},
        **{f"clearable_{name}": build for name, build in CLEARABLE.items()},
        **{f"round_robin_{n}": partial(RoundRobin, BITS, n) for n in INPUTS},
        "gate": lambda: Gate(BITS),
    },
)


_FACTOR = 0x9E35


def scrambled(word: int) -> int:
    """A payload that has both values of each bit, in a few transfers already."""
    return word * _FACTOR % (1 << BITS)


def word_of(payload: int) -> int:
    """Inverts the scrambling of a payload."""
    return payload * pow(_FACTOR, -1, 1 << BITS) % (1 << BITS)


def ports(part: Any) -> tuple[list[Any], Any]:
    return (part.i, part.o) if isinstance(part, RoundRobin) else ([part.i], part.o)


class Run:
    """Cycles of a part with numbered transfers at every input.

    Parameters
    ----------
    name: of the part
    gap, stall: shares of the cycles in which an input offers nothing, the output takes nothing
    counts: transfers for each input
    cycles: length
    clear: share of the cycles in which ``clear`` is high

    Members
    -------
    sent: for each input, (cycle, payload) of its transfers
    taken: (cycle, payload) of the output's
    waits: payload that is offered at the end and not taken, if there is one
    dropped: payloads sent when or before ``clear`` came and not taken until then
    """

    def __init__(
        self,
        name: str,
        *,
        counts: list[int],
        cycles: int,
        gap: float = 0.0,
        stall: float = 0.0,
        clear: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.part, self.random = RTL[name], random.Random(seed)
        self.direct = name.endswith("_direct")
        self.gap, self.stall, self.clear = gap, stall, clear
        self.counts, self.cycles = counts, cycles
        self.inputs, self.output = ports(self.part)
        self.sent: list[list[tuple[int, int]]] = [[] for _ in counts]
        self.taken: list[tuple[int, int]] = []
        self.waits: int | None = None
        self.dropped: set[int] = set()
        RTL.simulate(name, self._bench)

    async def _bench(self, sim: Any) -> None:
        held: int | None = None
        for cycle in range(self.cycles):
            for index, source in enumerate(self.inputs):
                number = len(self.sent[index])
                offers = number < self.counts[index] and (
                    sim.get(source.valid) == 1 or self.random.random() >= self.gap
                )
                sim.set(source.valid, int(offers))
                sim.set(source.payload, scrambled(index << 12 | number))
            clears = self.random.random() < self.clear
            if self.clear:
                sim.set(self.part.clear, int(clears))
            sim.set(self.output.ready, int(self.random.random() >= self.stall))
            self.waits = held = self._observe(sim, cycle, held, clears)
            await sim.tick()
            for index, source in enumerate(self.inputs):
                if self.sent[index] and self.sent[index][-1][0] == cycle:
                    sim.set(source.valid, 0)

    def _observe(self, sim: Any, cycle: int, held: int | None, clears: bool) -> int | None:
        """Records the transfers of this cycle; returns the payload that waits afterwards."""
        payload = sim.get(self.output.payload)
        if isinstance(self.part, RoundRobin):
            assert payload.source == word_of(payload.payload) >> 12
            payload = payload.payload
        payload = word_of(payload)
        valid = sim.get(self.output.valid)
        if held is not None:
            assert valid
            assert payload == held, "the payload changed before ready"
        if cycle == 0:
            assert not valid or self.direct
        for index, source in enumerate(self.inputs):
            if sim.get(source.valid) and sim.get(source.ready):
                self.sent[index].append((cycle, index << 12 | len(self.sent[index])))
        if valid and sim.get(self.output.ready):
            self.taken.append((cycle, payload))
            valid = 0
        if clears:
            here = {word for _, word in self.taken} | self.dropped
            self.dropped |= {word for rows in self.sent for _, word in rows} - here
            return None
        return payload if valid else None


PAUSES = [(0.0, 0.6), (0.5, 0.0), (0.5, 0.6)]


@pytest.mark.parametrize("pauses", slow_but([(0.5, 0.6)], PAUSES))
@pytest.mark.parametrize("name", PARTS)
def test_all_leaves_in_order(name: str, pauses: tuple[float, float]) -> None:
    gap, stall = pauses
    run = Run(name, counts=[120], cycles=700, gap=gap, stall=stall, seed=len(name))
    assert [word for _, word in run.taken] == list(range(120))


@pytest.mark.parametrize("name", [*PARTS, *(f"clearable_{name}" for name in CLEARABLE)])
def test_latency_and_throughput(name: str) -> None:
    """All words arrive, the last included, after the part's latency and at its rate."""
    kind = name.removeprefix("clearable_")
    run = Run(name, counts=[60], cycles=150)
    assert [word for _, word in run.taken] == list(range(60))
    assert run.taken[0][0] - run.sent[0][0][0] == PARTS[kind][1]
    if kind in FULL_RATE:
        assert run.taken[-1][0] - run.taken[0][0] == 59


CAPACITIES = {
    **{name: part[2] for name, part in PARTS.items()},
    **{f"clearable_{name}": PARTS[name][2] for name in CLEARABLE},
    **{f"round_robin_{n}": 2 for n in INPUTS},
}


@pytest.mark.parametrize("name", CAPACITIES)
def test_capacity(name: str) -> None:
    """A part fills while no output is accepted, and offers its first word."""
    run = Run(name, counts=[20] * len(ports(RTL[name])[0]), cycles=40, stall=1.0)
    assert (sum(map(len, run.sent)), run.taken) == (CAPACITIES[name], [])
    assert run.waits == min(sent for rows in run.sent for sent in rows)[1]


@pytest.mark.parametrize("name", [*PARTS, *(f"round_robin_{n}" for n in INPUTS)])
def test_a_reset_drops_what_is_inside(name: str) -> None:
    inputs = len(ports(RTL[name])[0])
    Run(name, counts=[20] * inputs, cycles=30, stall=0.9)
    run = Run(name, counts=[5] * inputs, cycles=60)
    assert sorted(word for _, word in run.taken) == [
        index << 12 | number for index in range(inputs) for number in range(5)
    ]
    assert run.taken[0][1] == min(1, inputs - 1) << 12


@pytest.mark.parametrize("name", CLEARABLE)
@pytest.mark.parametrize("seed", slow_but([0], range(3)))
def test_clear_drops_what_is_inside(name: str, seed: int) -> None:
    part = f"clearable_{name}"
    run = Run(part, counts=[400], cycles=900, gap=0.2, stall=0.4, clear=0.05, seed=seed)
    words = [word for _, word in run.taken]
    assert words == sorted(set(range(400)) - run.dropped)
    assert len(run.dropped) > 20
    assert len(words) > 200


@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_a_gate_takes_nothing_back(stall: float) -> None:
    """A held gate offers only what it has offered before. Otherwise it passes every word."""
    part, chosen = RTL["gate"], random.Random(5)
    seen = {"held": 0, "passed": 0, "stays": 0}

    async def bench(sim: Any) -> None:
        number, offered = 0, False
        for _ in range(1000):
            gap = chosen.random() < 0.3 and not sim.get(part.i.valid)
            hold = chosen.random() < 0.5
            sim.set(part.i.valid, int(not gap))
            sim.set(part.i.payload, number)
            sim.set(part.hold, int(hold))
            sim.set(part.o.ready, int(chosen.random() >= stall))
            valid = sim.get(part.o.valid)
            assert valid == (not gap and (offered or not hold))
            assert sim.get(part.i.ready) == (sim.get(part.o.ready) and (offered or not hold))
            assert sim.get(part.o.payload) == number
            moved = valid and sim.get(part.o.ready)
            seen["held"] += not gap and not valid
            seen["passed"] += moved
            seen["stays"] += hold and offered
            number, offered = number + moved, bool(valid and not moved)
            await sim.tick()
            if moved:
                sim.set(part.i.valid, 0)

    RTL.simulate("gate", bench)
    assert seen["held"] > 100
    assert seen["passed"] > 100
    assert (seen["stays"] > 50) == (stall > 0)


def test_a_reset_gate_has_offered_nothing() -> None:
    part, seen = RTL["gate"], []

    async def bench(sim: Any) -> None:
        for hold in (1, 0, 1):
            sim.set(part.i.valid, 1)
            sim.set(part.hold, hold)
            seen.append(sim.get(part.o.valid))
            await sim.tick()

    for _ in range(2):
        RTL.simulate("gate", bench)
    assert seen == [0, 1, 1] * 2


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_round_robin_serves_everyone(inputs: int, stall: float) -> None:
    name, counts = f"round_robin_{inputs}", [50] * inputs
    run = Run(name, counts=counts, cycles=900, gap=0.3, stall=stall, seed=inputs)
    for index in range(inputs):
        mine = [word & 0xFFF for _, word in run.taken if word >> 12 == index]
        assert mine == list(range(50))


@pytest.mark.parametrize("inputs", INPUTS)
def test_round_robin_is_fair_and_never_pauses(inputs: int) -> None:
    run = Run(f"round_robin_{inputs}", counts=[40] * inputs, cycles=40 * inputs + 5)
    sources = [word >> 12 for _, word in run.taken]
    assert len(sources) == 40 * inputs
    assert run.taken[-1][0] - run.taken[0][0] == 40 * inputs - 1
    first = sources[:inputs]
    assert sorted(first) == list(range(inputs))
    assert sources == first * 40


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("gap", [0.3, 0.7, 0.9])
def test_round_robin_takes_the_next_that_offers(inputs: int, gap: float) -> None:
    """The first input that offers after the one served last, going round, and no other."""
    name = f"round_robin_{inputs}"
    part, chosen = RTL[name], random.Random(f"{inputs} {gap}")
    served: list[tuple[int, int]] = []
    found: list[tuple[int, int]] = []

    async def bench(sim: Any) -> None:
        offers = [False] * inputs
        number, last = 0, 0
        words = [0] * inputs
        for _ in range(700):
            for index, i in enumerate(part.i):
                if not offers[index] and chosen.random() >= gap:
                    offers[index], words[index] = True, scrambled(number)
                    number += 1
                sim.set(i.valid, int(offers[index]))
                sim.set(i.payload, words[index])
            sim.set(part.o.ready, int(chosen.random() < 0.7))
            if sim.get(part.o.valid) and sim.get(part.o.ready):
                payload = sim.get(part.o.payload)
                found.append((payload.source, payload.payload))
            round_ = [(last + step) % inputs for step in range(1, inputs + 1)]
            following = next((index for index in round_ if offers[index]), None)
            takes = [index for index, i in enumerate(part.i) if sim.get(i.ready) and offers[index]]
            assert takes in ([], [following])
            if takes:
                last = takes[0]
                served.append((last, words[last]))
                offers[last] = False
            await sim.tick()

    RTL.simulate(name, bench)
    assert found == served[: len(found)]
    assert len(served) - len(found) <= 2
    assert {index for index, _ in served} == set(range(inputs))


def test_skid_buffer_cuts_the_path_of_ready() -> None:
    """The ready of the input does not depend on the output's ready in the same cycle."""
    part = RTL["skid_buffer"]
    seen = []

    async def bench(sim: Any) -> None:
        sim.set(part.i.valid, 1)
        for cycle in range(6):
            readies = []
            for ready in (0, 1, cycle & 1):
                sim.set(part.o.ready, ready)
                readies.append(sim.get(part.i.ready))
            seen.append(set(readies))
            await sim.tick()

    RTL.simulate("skid_buffer", bench)
    assert all(len(readies) == 1 for readies in seen)
