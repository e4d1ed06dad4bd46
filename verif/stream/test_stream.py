"""Stream plumbing: nothing lost, repeated or reordered, the stream rules, throughput, fairness."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.stream.deep_queue import DeepQueue
from tilewright.hw.stream.gate import Gate
from tilewright.hw.stream.output_register import OutputRegister
from tilewright.hw.stream.queue import Queue
from tilewright.hw.stream.round_robin import RoundRobin
from tilewright.hw.stream.skid_buffer import SkidBuffer
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.rigid_pipeline import RigidPipeline

BITS = 16
PARTS: dict[str, tuple[Callable[[], Any], int, int]] = {
    # what builds it, its latency, how many transfers it holds
    "skid_buffer": (lambda: SkidBuffer(BITS), 1, 2),
    "output_register": (lambda: OutputRegister(BITS), 1, 1),
    "queue_1": (lambda: Queue(BITS, 1), 1, 1),
    "queue_2": (lambda: Queue(BITS, 2), 1, 2),
    "queue_5": (lambda: Queue(BITS, 5), 1, 5),
    "queue_8": (lambda: Queue(BITS, 8), 1, 8),
    "deep_queue_2": (lambda: DeepQueue(BITS, 2), 2, 3),
    "deep_queue_5": (lambda: DeepQueue(BITS, 5), 2, 6),
    "deep_queue_8": (lambda: DeepQueue(BITS, 8), 2, 9),
    "round_robin": (lambda: RoundRobin(BITS, 1), 1, 2),
    "valid_pipeline": (lambda: RigidPipeline(BITS, 3), 3, 3),
    "valid_pipeline_skid": (lambda: RigidPipeline(BITS, 2, skid=True), 3, 4),
}
FULL_RATE = [name for name in PARTS if name != "queue_1"]


def ports(part: Any) -> tuple[list[Any], Any]:
    return (part.i, part.o) if isinstance(part, RoundRobin) else ([part.i], part.o)


class Run:
    """Cycles of a part with numbered transfers at every input.

    Parameters
    ----------
    part: the component
    gap, stall: shares of the cycles in which an input offers nothing, the output takes nothing
    counts: transfers for each input
    cycles: length
    clear: share of the cycles in which ``clear`` is high

    Members
    -------
    sent: for each input, (cycle, payload) of its transfers
    taken: (cycle, payload) of the output's
    dropped: payloads sent when or before ``clear`` came and not taken until then
    """

    def __init__(
        self,
        part: Any,
        *,
        counts: list[int],
        cycles: int,
        gap: float = 0.0,
        stall: float = 0.0,
        clear: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.part, self.random = part, random.Random(seed)
        self.gap, self.stall, self.clear = gap, stall, clear
        self.counts, self.cycles = counts, cycles
        self.inputs, self.output = ports(part)
        self.sent: list[list[tuple[int, int]]] = [[] for _ in counts]
        self.taken: list[tuple[int, int]] = []
        self.dropped: set[int] = set()
        simulator = Simulator(part)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._bench)
        simulator.run()

    async def _bench(self, sim: Any) -> None:
        held: int | None = None
        for cycle in range(self.cycles):
            for index, source in enumerate(self.inputs):
                number = len(self.sent[index])
                offers = number < self.counts[index] and (
                    sim.get(source.valid) == 1 or self.random.random() >= self.gap
                )
                sim.set(source.valid, int(offers))
                sim.set(source.payload, index << 12 | number)
            clears = self.random.random() < self.clear
            if self.clear:
                sim.set(self.part.clear, int(clears))
            sim.set(self.output.ready, int(self.random.random() >= self.stall))
            held = self._observe(sim, cycle, held, clears)
            await sim.tick()
            for index, source in enumerate(self.inputs):
                if self.sent[index] and self.sent[index][-1][0] == cycle:
                    sim.set(source.valid, 0)

    def _observe(self, sim: Any, cycle: int, held: int | None, clears: bool) -> int | None:
        """What moves in this cycle; the payload that waits afterwards."""
        payload = sim.get(self.output.payload)
        if isinstance(self.part, RoundRobin):
            assert payload.source == payload.payload >> 12
            payload = payload.payload
        valid = sim.get(self.output.valid)
        if held is not None:
            assert valid
            assert payload == held, "the payload changed before ready"
        if cycle == 0:
            assert not valid
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
    run = Run(PARTS[name][0](), counts=[120], cycles=700, gap=gap, stall=stall, seed=len(name))
    assert [word for _, word in run.taken] == list(range(120))


@pytest.mark.parametrize("name", PARTS)
def test_latency_and_throughput(name: str) -> None:
    build, latency, _ = PARTS[name]
    run = Run(build(), counts=[60], cycles=150)
    assert run.taken[0][0] - run.sent[0][0][0] == latency
    if name in FULL_RATE:
        assert run.taken[-1][0] - run.taken[0][0] == 59


@pytest.mark.parametrize("name", PARTS)
def test_capacity(name: str) -> None:
    build, _, capacity = PARTS[name]
    run = Run(build(), counts=[20], cycles=40, stall=1.0)
    assert (len(run.sent[0]), run.taken) == (capacity, [])


CLEARABLE: dict[str, Callable[[], Any]] = {
    "skid_buffer": lambda: SkidBuffer(BITS, clearable=True),
    "output_register": lambda: OutputRegister(BITS, clearable=True),
    **{name: part[0] for name, part in PARTS.items() if name.startswith(("deep", "valid"))},
}


@pytest.mark.parametrize("name", CLEARABLE)
@pytest.mark.parametrize("seed", slow_but([0], range(3)))
def test_clear_drops_what_is_inside(name: str, seed: int) -> None:
    run = Run(
        CLEARABLE[name](), counts=[400], cycles=900, gap=0.2, stall=0.4, clear=0.05, seed=seed
    )
    words = [word for _, word in run.taken]
    assert words == sorted(set(range(400)) - run.dropped)
    assert len(run.dropped) > 20
    assert len(words) > 200


@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_a_gate_takes_nothing_back(stall: float) -> None:
    """While held it offers nothing but what it has offered before; otherwise it passes all."""
    part, chosen = Gate(BITS), random.Random(5)
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

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen["held"] > 100
    assert seen["passed"] > 100
    assert (seen["stays"] > 50) == (stall > 0)


@pytest.mark.parametrize("inputs", [2, 3, 5])
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_round_robin_serves_everyone(inputs: int, stall: float) -> None:
    part = RoundRobin(BITS, inputs)
    run = Run(part, counts=[50] * inputs, cycles=900, gap=0.3, stall=stall, seed=inputs)
    for index in range(inputs):
        mine = [word & 0xFFF for _, word in run.taken if word >> 12 == index]
        assert mine == list(range(50))


@pytest.mark.parametrize("inputs", [2, 3, 5])
def test_round_robin_is_fair_and_never_pauses(inputs: int) -> None:
    run = Run(RoundRobin(BITS, inputs), counts=[40] * inputs, cycles=40 * inputs + 5)
    sources = [word >> 12 for _, word in run.taken]
    assert len(sources) == 40 * inputs
    assert run.taken[-1][0] - run.taken[0][0] == 40 * inputs - 1
    first = sources[:inputs]
    assert sorted(first) == list(range(inputs))
    assert sources == first * 40


def test_skid_buffer_cuts_the_path_of_ready() -> None:
    """Its ready is the same whatever the output's ready is in the cycle."""
    part = SkidBuffer(BITS)
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

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(len(readies) == 1 for readies in seen)
