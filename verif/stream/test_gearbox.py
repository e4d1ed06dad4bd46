"""The gearbox: every pair of sizes, requests of any length, an entry or a line a cycle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from tilewright.hw.stream.gearbox import Gearbox, entries_layout, entry_layout
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents

SIZES: dict[str, tuple[int, tuple[int, ...]]] = {
    "slots": (16, (12, 20, 28)),
    "odd": (8, (5,)),
    "prime": (12, (7, 11)),
    "equal": (16, (16,)),
    "halves": (16, (8, 4)),
    "long": (8, (36, 3)),
    "multiple": (8, (32,)),
}
"""Bytes of a line, and of entries."""

RTL = NativeParts(
    "gearboxes", {name: partial(Gearbox, line, sizes, 16) for name, (line, sizes) in SIZES.items()}
)


@dataclass
class Run:
    """What is wanted, and what came."""

    name: str
    wanted: Sequence[tuple[int, int]]
    gap: float = 0.0
    stall: float = 0.0
    seed: int = 0
    clear_at: int | None = None

    def __post_init__(self) -> None:
        line_bytes, sizes = SIZES[self.name]
        rng = random.Random(f"{self.name} {self.seed}")
        part = RTL[self.name]
        layout, entry = entries_layout(sizes, 16), entry_layout(sizes)
        self.lines: list[bytes] = []
        self.expected: list[tuple[bytes, int]] = []
        requests = []
        for size, count in self.wanted:
            data = rng.randbytes(-(-count * sizes[size] // line_bytes) * line_bytes)
            self.lines += [data[n : n + line_bytes] for n in range(0, len(data), line_bytes)]
            for n in range(count):
                content = data[n * sizes[size] : (n + 1) * sizes[size]]
                self.expected.append((content, int(n == count - 1)))
            fields = {"count": count, **({"size": size} if len(sizes) > 1 else {})}
            requests.append(layout.const(fields).as_bits())
        lines = [int.from_bytes(line, "little") for line in self.lines]
        source = Source(part.request, requests, gap=self.gap, seed=f"request {self.seed}")
        self.source = Source(part.lines, lines, gap=self.gap, seed=f"lines {self.seed}")
        self.sink = Sink(part.o, stall=self.stall, seed=self.seed)
        clear = Wire(part.clear, lambda cycle: int(cycle == self.clear_at))

        def until(_: object, cycle: int) -> bool:
            if cycle == self.clear_at:
                # From here on as if nothing had been.
                self.sink.words.clear()
                self.sink.forget()
                for one, words in ((source, requests), (self.source, lines)):
                    one.forget()
                    one.words += words
            return len(self.sink.words) == len(self.expected)

        agents: list[Agent] = [source, self.source, self.sink, clear]
        run_agents(partial(RTL.simulate, self.name), agents, until=until)
        self.found = []
        for (content, _), word in zip(self.expected, self.sink.words, strict=True):
            view = entry.from_bits(word)
            data = (view.data & (1 << 8 * len(content)) - 1).to_bytes(len(content), "little")
            self.found.append((data, view.last))


def draw(name: str, seed: int, requests: int = 12) -> list[tuple[int, int]]:
    rng = random.Random(f"{name} {seed}")
    sizes = SIZES[name][1]
    return [(rng.randrange(len(sizes)), rng.choice([1, 2, 3, 7, 20])) for _ in range(requests)]


PAUSES = [(0.4, 0.4), (0.0, 0.7), (0.7, 0.0)]


@pytest.mark.parametrize("pauses", slow_but(PAUSES[:1], PAUSES))
@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_entries_follow_each_other_within_a_request(name: str, pauses: tuple[float, float]) -> None:
    for seed in range(by_size(1, 2, 8)):
        run = Run(name, draw(name, seed), *pauses, seed=seed)
        assert run.found == run.expected, seed
        assert run.source.done


@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_an_entry_or_a_line_a_cycle(name: str) -> None:
    """Over requests too."""
    line, sizes = SIZES[name]
    wanted = [(n % len(sizes), 40) for n in range(6)]
    run = Run(name, wanted)
    needed = sum(max(count, -(-count * sizes[size] // line)) for size, count in wanted)
    first = run.source.cycles[0]
    assert run.sink.cycles[-1] - first <= needed


@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_an_entry_is_offered_before_it_is_taken(name: str) -> None:
    """And stays as it is."""
    part, seen = RTL[name], []

    async def bench(sim: Any) -> None:
        sim.set(part.request.valid, 1)
        sim.set(part.request.payload, {"count": 9})
        sim.set(part.lines.valid, 1)
        for cycle in range(40):
            sim.set(part.lines.payload, cycle + 1)
            seen.append((sim.get(part.o.valid), sim.get(part.o.payload).as_bits()))
            await sim.tick()

    RTL.simulate(name, bench)
    assert seen[0][0] == 0
    assert seen[20][0] == 1
    assert set(seen[20:]) == {seen[20]}


@pytest.mark.parametrize("clear_at", [3, 11, 20])
def test_after_a_clear_it_begins_anew(clear_at: int) -> None:
    run = Run("slots", draw("slots", clear_at), 0.2, 0.4, seed=clear_at, clear_at=clear_at)
    assert run.found == run.expected


@pytest.mark.parametrize("sizes", [(), (4, 0)])
def test_sizes_that_cannot_be(sizes: tuple[int, ...]) -> None:
    message = f"`sizes` must be of at least 1 byte each, not {sizes}"
    assert refusal(lambda: Gearbox(8, sizes, 8)) == message
