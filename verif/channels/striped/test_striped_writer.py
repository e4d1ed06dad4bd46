"""The writer of lines: what it writes, where, how fast, and how it is stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.placed_words import GEOMETRIES
from tilewright.verif.channels.striped.written import WrittenChannel, written, written_channels
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Source, Wire, run_agents

pytestmark = pytest.mark.long

LINES = {
    "one channel": 1,
    "three channels": 1,
    "three channels, long blocks": 3,
    "eight channels": 2,
    "eight channels, long blocks": 8,
    "a beat a block": 2,
}
"""Blocks of a line, by geometry."""
EVERY = slow_but(["a beat a block"], LINES, ["three channels", "eight channels"])


@dataclass(kw_only=True)
class Scene:
    """Requests to a writer, and how willing everyone is.

    ``inside``, ``blocks``: the writer's ``requests`` and ``blocks``.
    ``stop_at``: a cycle in which all is stopped, for two cycles; an error stops all, too.
    """

    geometry: ChannelGeometry
    line_blocks: int
    requests: list[tuple[int, bytes]]
    seed: int = 0
    gap: float = 0.0
    stall: float = 0.0
    latency: int = 3
    bad: int | None = None
    stop_at: int | None = None
    inside: int = 1
    blocks: int = 1
    cycles: int = 0
    channels: list[WrittenChannel] = field(default_factory=list)
    error: int | None = None

    def run(self) -> dict[int, int]:
        """Runs until the writer is idle and returns the bytes written, by address."""
        dut = StripedWriter(
            self.geometry, line_blocks=self.line_blocks, bytes_bits=20, outstanding=16,
            requests=self.inside, blocks=self.blocks,
        )  # fmt: skip
        self.channels = written_channels(
            self.geometry, dut, seed=self.seed, stall=self.stall, latency=self.latency, bad=self.bad
        )
        line = self.line_blocks * self.geometry.interleave
        addr_bits = self.geometry.addr_bits
        sources = [
            Source(port, words, gap=self.gap, seed=self.seed)
            for port, words in (
                (dut.request, [at | len(content) << addr_bits for at, content in self.requests]),
                (
                    dut.i,
                    [
                        int.from_bytes(content[at : at + line], "little")
                        for _, content in self.requests
                        for at in range(0, len(content), line)
                    ],
                ),
            )
        ]
        quiet = 0

        def stop(cycle: int) -> int:
            failed = self.error is not None and self.stop_at is None
            if failed:
                self.stop_at = cycle
            stops = self.stop_at is not None and cycle in range(self.stop_at, self.stop_at + 2)
            if stops:
                for source in sources:
                    source.forget()
            return int(stops)

        def done(sim: Any, cycle: int) -> bool:
            nonlocal quiet
            if sim.get(dut.error) and self.error is None:
                self.error = sim.get(dut.error_address)
            idle = sim.get(dut.idle)
            assert not (idle and any(channel.owed for channel in self.channels))
            quiet = quiet + 1 if idle and all(source.done for source in sources) else 0
            self.cycles = cycle
            return quiet == 4

        run_agents(dut, [Wire(dut.stop, stop), *sources, *self.channels], until=done)
        return written(self.channels)


def drawn(geometry: ChannelGeometry, line_blocks: int, seed: int, sizes: list[int]) -> list[Any]:
    """Requests of these sizes, wherever lines begin, none in another's way."""
    rng = np.random.default_rng(seed)
    line = line_blocks * geometry.interleave
    places = np.cumsum([int(rng.integers(0, 9)) + -(-size // line) for size in sizes])
    starts = [0, *places.tolist()]
    return [(start * line, rng.bytes(size)) for start, size in zip(starts, sizes, strict=False)]


def expected(requests: list[tuple[int, bytes]]) -> dict[int, int]:
    return {at + n: byte for at, content in requests for n, byte in enumerate(content)}


@pytest.mark.parametrize("name", EVERY)
def test_memory_has_the_bytes_and_no_others(name: str) -> None:
    geometry, count = GEOMETRIES[name], LINES[name]
    line = count * geometry.interleave
    for seed in range(by_size(1, 2, 8)):
        rng = np.random.default_rng(seed)
        sizes = [1, line, line + 1, *rng.integers(1, 6 * line, 4).tolist()]
        requests = drawn(geometry, count, seed, sizes)
        scene = Scene(geometry=geometry, line_blocks=count, requests=requests, seed=seed)
        if seed % 2 == 0:
            scene.gap, scene.stall, scene.latency = 0.3, 0.4, 9
        assert scene.run() == expected(requests), seed
        assert scene.error is None


@pytest.mark.parametrize("name", EVERY)
def test_a_beat_a_cycle_in_every_channel(name: str) -> None:
    """Writes as fast as the channels whose bytes are all written; lines are at most a stripe
    long."""
    geometry, count = GEOMETRIES[name], LINES[name]
    stripes = 24
    requests = drawn(geometry, count, 1, [stripes * geometry.stripe_bytes])
    scene = Scene(geometry=geometry, line_blocks=count, requests=requests)
    scene.run()
    beats = [channel.beats for channel in scene.channels]
    assert beats == [stripes * geometry.block_beats] * geometry.channels
    # Either the channels or the lines limit the rate.
    lines = stripes * geometry.channels / count
    assert scene.cycles <= 1.02 * max(lines, beats[0]) + 8 * geometry.block_beats + 20


@pytest.mark.parametrize("name", slow_but([], ["one channel", "three channels", "eight channels"]))
def test_requests_of_a_line_follow_each_other(name: str) -> None:
    """Alternates between two runs of lines, an odd number of blocks apart, as fast as one run."""
    geometry, count = GEOMETRIES[name], LINES[name]
    line, run = count * geometry.interleave, geometry.channels * geometry.interleave
    lines = [
        (first + at, bytes([turn] * line))
        for turn in range(12)
        for first in (turn * run, 100 * run + (turn * run + line))
        for at in range(0, run // line * line, line)
    ]
    scene = Scene(geometry=geometry, line_blocks=count, requests=lines, inside=4, blocks=2)
    assert scene.run() == expected(lines)
    beats = max(channel.beats for channel in scene.channels)
    assert scene.cycles <= 1.1 * max(len(lines), beats) + 8 * geometry.block_beats + 20


@pytest.mark.parametrize("name", EVERY)
def test_a_stop_leaves_nothing_behind(name: str) -> None:
    """Only requested bytes are written before the stop, and later writes work as usual."""
    geometry, count = GEOMETRIES[name], LINES[name]
    requests = drawn(geometry, count, 2, [5 * count * geometry.interleave + 3] * 4)
    whole = expected(requests)
    for at in range(4, 4 + 6 * by_size(1, 2, 8), 6):
        scene = Scene(
            geometry=geometry, line_blocks=count, requests=requests, stop_at=at, stall=0.3, seed=at
        )
        found = scene.run()
        assert found.items() <= whole.items()
        assert len(found) < len(whole)


@pytest.mark.parametrize("name", EVERY)
def test_an_error_names_the_block(name: str) -> None:
    geometry, count = GEOMETRIES[name], LINES[name]
    requests = drawn(geometry, count, 3, [9 * count * geometry.interleave])
    bad = requests[0][0] + 3 * geometry.interleave
    scene = Scene(geometry=geometry, line_blocks=count, requests=requests, bad=bad, latency=5)
    scene.run()
    assert scene.error == bad


def test_more_blocks_than_channels_are_refused() -> None:
    geometry = GEOMETRIES["three channels"]
    said = refusal(lambda: StripedWriter(geometry, line_blocks=4, bytes_bits=8, outstanding=4))
    assert said == "`line_blocks` must be in 1..3, not 4"
