"""The striped reader: every line under memories of every kind, and nearly every cycle of a port."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tilewright.hw.axi.block_reader import BlockReader
from tilewright.hw.channels.striped_reader import StripedReader, bytes_layout
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Manner
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents

pytestmark = pytest.mark.long


def _geometry(channels: int, data_bits: int, interleave: int = 64) -> ChannelGeometry:
    return ChannelGeometry(
        channels=channels, data_bits=data_bits, interleave=interleave, addr_bits=32
    )


READERS: dict[str, tuple[ChannelGeometry, int, int]] = {
    "one": (_geometry(1, 64), 1, 4),
    "four": (_geometry(4, 256), 2, 8),
    "eight": (_geometry(8, 128), 2, 16),
    "three": (_geometry(3, 512), 3, 2),
    "five": (_geometry(5, 64), 1, 5),
    "six": (_geometry(6, 512, 128), 3, 4),
}
"""Channels, blocks of a line, slots of a channel."""

MANNERS = {
    "rough": Manner(latency=(1, 60), stall=0.3, mixed=True),
    "mixed": Manner(latency=(1, 30), mixed=True),
    "slow": Manner(latency=(40, 40), stall=0.7),
    "one by one": Manner(latency=(1, 5), one_read=True),
}
PERFECT = Manner(latency=(8, 8))
MEMORY = 1 << 14


class Run:
    """Requests (line, bytes), and the lines that they bring.

    Parameters
    ----------
    bad: address of a beat that is bad; then only lines before it come
    stop_at: a cycle of ``stop``, which lasts a while; all is asked for again when it is idle
    slots: of a channel, if not as in ``READERS``
    """

    def __init__(
        self,
        name: str,
        wanted: Sequence[tuple[int, int]],
        manner: Manner,
        *,
        gap: float = 0.0,
        stall: float = 0.0,
        seed: int = 0,
        bad: int | None = None,
        stop_at: int | None = None,
        slots: int | None = None,
    ) -> None:
        self.geometry, self.line_blocks, outstanding = READERS[name]
        self.size = self.line_blocks * self.geometry.interleave
        rng = random.Random(f"{name} {seed}")
        self.content = rng.randbytes(MEMORY * self.geometry.channels)
        self.part = StripedReader(
            self.geometry, line_blocks=self.line_blocks, outstanding=slots or outstanding
        )
        self.wanted, self.bad = wanted, bad
        layout = bytes_layout(self.geometry)
        self.requests = [
            layout.const({"address": line * self.size, "bytes": count}).as_bits()
            for line, count in wanted
        ]
        self.source = Source(self.part.request, self.requests, gap=gap, seed=seed)
        self.sink = Sink(self.part.o, stall=stall, seed=seed)
        self.memories = [
            ChannelMemory(
                ar, r, self.geometry, channel, self.content, manner, seed=seed,
                bad=frozenset() if bad is None else frozenset([bad]),
            )
            for channel, (ar, r) in enumerate(zip(self.part.ar, self.part.r, strict=True))
        ]  # fmt: skip
        self.expected = self._expected()
        self.stop_at, self.stop_for = stop_at, rng.choice([1, 2, 30])
        self.error: int | None = None
        self._broken = stop_at is None
        stop = Wire(self.part.stop, self._stops)
        agents: list[Agent] = [self.source, self.sink, *self.memories, stop]
        self.cycles = run_agents(self.part, agents, until=self._until)
        if bad is None:
            self.check(len(self.expected))

    def _expected(self) -> list[tuple[bytes, int]]:
        found = []
        for line, count in self.wanted:
            begin, end = line * self.size, line * self.size + count
            for at in range(begin, end, self.size):
                blocks = -(-(end - at) // self.geometry.interleave)
                known = min(self.size, blocks * self.geometry.interleave)
                found.append((self.content[at : at + known], int(at + self.size >= end)))
        return found

    def check(self, count: int) -> None:
        """Checks that exactly these lines arrived."""
        assert len(self.sink.words) == count
        for (content, last), word in zip(self.expected, self.sink.words, strict=False):
            data = word & (1 << 8 * len(content)) - 1
            assert data.to_bytes(len(content), "little") == content
            assert word >> 8 * self.size == last

    def _stops(self, cycle: int) -> int:
        at = self.stop_at
        return int(at is not None and at <= cycle < at + self.stop_for)

    def _until(self, sim: Any, cycle: int) -> bool:
        part = self.part
        quiet = all(memory.quiet for memory in self.memories)
        idle = sim.get(part.idle)
        assert quiet or not idle, "idle though the bus owes something"
        if not self._broken:
            assert self.stop_at is not None
            if cycle == self.stop_at:
                self.sink.forget()
                self.source.forget()
            if cycle >= self.stop_at + self.stop_for and idle:
                self._broken = True
                self.sink.words.clear()
                self.source.words += self.requests
            return False
        if sim.get(part.error):
            self.error = self.error or sim.get(part.error_address)
            return quiet and cycle > self.memories[0].last + 300
        return len(self.sink.words) >= len(self.expected) and bool(idle)


def draw(name: str, seed: int, requests: int = 10) -> list[tuple[int, int]]:
    """Runs of any length, of one byte on."""
    geometry, blocks, _ = READERS[name]
    size = blocks * geometry.interleave
    rng = random.Random(f"draw {name} {seed}")
    lines = MEMORY * geometry.channels // size
    wanted = []
    for _ in range(requests):
        count = rng.choice([1, size, rng.randint(1, 12 * size), rng.randint(1, 3 * size)])
        wanted.append((rng.randrange(lines - 12), count))
    return wanted


every_manner = pytest.mark.parametrize("manner", slow_but(["rough"], MANNERS, ["one by one"]))
every_reader = pytest.mark.parametrize("name", slow_but(["four"], READERS, ["three", "eight"]))


@every_manner
@every_reader
def test_lines_leave_in_order_whatever_the_memory_does(name: str, manner: str) -> None:
    for seed in range(by_size(1, 1, 4)):
        run = Run(name, draw(name, seed), MANNERS[manner], gap=0.3, stall=0.3, seed=seed)
        overtakes = sum(memory.overtakes for memory in run.memories)
        assert overtakes or not MANNERS[manner].mixed


@pytest.mark.slow
@every_reader
def test_nearly_every_cycle_of_the_ports_is_used(name: str) -> None:
    """Uses 98 % of the port cycles in one long run, on a memory with a latency of eight cycles and
    with enough slots to cover it."""
    geometry, blocks, _ = READERS[name]
    lines = 220 * geometry.channels // blocks // geometry.block_beats + 1
    run = Run(name, [(1, lines * blocks * geometry.interleave)], PERFECT, slots=32)
    first = min(memory.first for memory in run.memories)
    last = max(memory.last for memory in run.memories)
    beats = sum(memory.beats for memory in run.memories)
    possible = min(geometry.channels, blocks * geometry.block_beats)
    assert beats >= 0.98 * possible * (last - first + 1)


@pytest.mark.slow
def test_a_line_a_cycle_from_runs_of_a_line() -> None:
    """Reads lines of different rows of a matrix, all of which start in the same channel."""
    geometry, blocks, _ = READERS["eight"]
    size, stripe = blocks * geometry.interleave, geometry.stripe_bytes // 128
    wanted = [(row * stripe + line, size) for line in range(40) for row in range(8)]
    run = Run("eight", wanted, PERFECT)
    assert run.sink.cycles[-1] - run.sink.cycles[0] <= len(wanted) / 0.5


@pytest.mark.slow
@every_reader
def test_stop_in_the_middle_of_anything(name: str) -> None:
    rng = random.Random(name)
    for seed in range(by_size(1, 3, 12)):
        wanted = draw(name, seed, 5)
        Run(name, wanted, MANNERS["rough"], gap=0.2, stall=0.2, seed=seed,
            stop_at=rng.randint(2, 120))  # fmt: skip


@pytest.mark.slow
@every_reader
def test_an_error_is_reported_and_its_line_never_leaves(name: str) -> None:
    geometry, blocks, _ = READERS[name]
    size = blocks * geometry.interleave
    rng = random.Random(name)
    for seed in range(by_size(1, 2, 8)):
        lines = rng.randint(1, 20)
        beats = lines * size // geometry.beat_bytes
        bad = rng.randrange(beats)
        manner = rng.choice([MANNERS["rough"], PERFECT])
        run = Run(name, [(0, lines * size)], manner, seed=seed, bad=bad * geometry.beat_bytes)
        assert run.error == run.bad
        before = bad * geometry.beat_bytes // size
        assert len(run.sink.words) <= before
        run.check(len(run.sink.words))


def test_parameters_that_cannot_be() -> None:
    geometry = _geometry(2, 64)
    sizes = {"addr_bits": 32, "data_bits": 64, "block_beats": 8}
    messages = [
        refusal(lambda: StripedReader(geometry, line_blocks=3, outstanding=4)),
        refusal(lambda: BlockReader(**sizes, outstanding=1)),
        refusal(lambda: BlockReader(**sizes, outstanding=8, id_bits=2)),
    ]
    assert messages == [
        "`line_blocks` must be in 1..2, not 3",
        "`outstanding` must be at least 2, not 1",
        "`id_bits` must be at least 3, not 2",
    ]
