"""The writer of lines: what it writes, where, how fast, and how it is stopped."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.geometries import GEOMETRIES
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.simulated import simulate

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


@dataclass
class Channel:
    """An AXI subordinate: what it was told, and what it still has to answer."""

    geometry: ChannelGeometry
    number: int
    bursts: deque[list[int]] = field(default_factory=deque)
    answers: deque[tuple[int, int]] = field(default_factory=deque)
    written: dict[int, int] = field(default_factory=dict)
    beats: int = 0

    def address(self, address: int, length: int) -> None:
        block = address // self.geometry.interleave
        assert block % self.geometry.channels == self.number
        assert address % self.geometry.interleave == 0
        assert length < self.geometry.block_beats
        self.bursts.append([address, length + 1, address])

    def data(self, word: int, strobe: int, last: int, now: int) -> None:
        burst, size = self.bursts[0], self.geometry.beat_bytes
        for lane in range(size):
            if strobe >> lane & 1:
                assert burst[0] + lane not in self.written
                self.written[burst[0] + lane] = word >> 8 * lane & 0xFF
        burst[0] += size
        burst[1] -= 1
        self.beats += 1
        assert last == (burst[1] == 0)
        if last:
            self.answers.append((now, burst[2]))
            self.bursts.popleft()


@dataclass(kw_only=True)
class Scene:
    """Requests to a writer, and how willing everyone is."""

    geometry: ChannelGeometry
    line_blocks: int
    requests: list[tuple[int, bytes]]
    seed: int = 0
    gap: float = 0.0
    stall: float = 0.0
    latency: int = 3
    bad: int | None = None
    stop_at: int | None = None
    cycles: int = 0
    channels: list[Channel] = field(default_factory=list)
    error: int | None = None

    def run(self) -> None:
        dut = StripedWriter(
            self.geometry, line_blocks=self.line_blocks, bytes_bits=20, outstanding=16
        )

        async def bench(ctx: Any) -> None:
            await self._bench(ctx, dut)

        simulate(dut, bench)

    def written(self) -> dict[int, int]:
        return {at: byte for channel in self.channels for at, byte in channel.written.items()}

    async def _bench(self, ctx: Any, dut: StripedWriter) -> None:
        rng = np.random.default_rng(self.seed)
        line = self.line_blocks * self.geometry.interleave
        requests = deque((address, len(content)) for address, content in self.requests)
        lines = deque(
            content[at : at + line]
            for _, content in self.requests
            for at in range(0, len(content), line)
        )
        self.channels = [Channel(self.geometry, n) for n in range(self.geometry.channels)]
        ports: list[tuple[deque[Any], Any]] = [(requests, dut.request), (lines, dut.i)]
        offered = [False, False]
        stopped = quiet = 0
        for now in range(100_000):
            stop = self.stop_at is not None and now in range(self.stop_at, self.stop_at + 2)
            stop |= self.error is not None and stopped == 0
            if stop:
                requests.clear()
                lines.clear()
                offered = [False, False]
                stopped += 1
            ctx.set(dut.stop, stop)
            for n, (queue, port) in enumerate(ports):
                offered[n] = bool(queue) and (offered[n] or rng.random() >= self.gap)
                ctx.set(port.valid, offered[n])
            if requests:
                ctx.set(dut.request.payload.address, requests[0][0])
                ctx.set(dut.request.payload.bytes, requests[0][1])
            if lines:
                filler = rng.bytes(line - len(lines[0]))
                ctx.set(dut.i.payload, int.from_bytes(lines[0] + filler, "little"))
            for n, channel in enumerate(self.channels):
                ctx.set(dut.aw[n].ready, int(rng.random() >= self.stall))
                ctx.set(dut.w[n].ready, int(rng.random() >= self.stall))
                due = bool(channel.answers) and channel.answers[0][0] + self.latency <= now
                ctx.set(dut.b[n].valid, due)
                bad = due and channel.answers[0][1] == self.bad
                ctx.set(dut.b[n].payload.response, 2 if bad else 0)
                if due:
                    channel.answers.popleft()
            await ctx.delay(0.4e-6)
            for n, (queue, port) in enumerate(ports):
                if offered[n] and ctx.get(port.ready):
                    queue.popleft()
                    offered[n] = False
            for n, channel in enumerate(self.channels):
                if ctx.get(dut.aw[n].valid) and ctx.get(dut.aw[n].ready):
                    burst = dut.aw[n].payload
                    channel.address(ctx.get(burst.address), ctx.get(burst.length))
                if ctx.get(dut.w[n].valid) and ctx.get(dut.w[n].ready):
                    beat = dut.w[n].payload
                    assert channel.bursts, "data lead their address"
                    channel.data(ctx.get(beat.data), ctx.get(beat.strobe), ctx.get(beat.last), now)
            if ctx.get(dut.error) and self.error is None:
                self.error = ctx.get(dut.error_address)
            owed = any(channel.bursts or channel.answers for channel in self.channels)
            idle = ctx.get(dut.idle)
            assert not (idle and owed)
            await ctx.tick()
            quiet = quiet + 1 if idle and not requests and not lines and not stop else 0
            if quiet == 3:
                assert not ctx.get(dut.error) or self.error is not None
                self.cycles = now
                return
        raise AssertionError("it never becomes idle")


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
        scene.run()
        assert scene.written() == expected(requests), seed
        assert scene.error is None


@pytest.mark.parametrize("name", EVERY)
def test_a_beat_a_cycle_in_every_channel(name: str) -> None:
    """As fast as the channels of which all bytes are written: lines are at most their stripe."""
    geometry, count = GEOMETRIES[name], LINES[name]
    stripes = 24
    requests = drawn(geometry, count, 1, [stripes * geometry.stripe_bytes])
    scene = Scene(geometry=geometry, line_blocks=count, requests=requests)
    scene.run()
    beats = [channel.beats for channel in scene.channels]
    assert beats == [stripes * geometry.block_beats] * geometry.channels
    # Of what a line carries in a cycle the channels are the limit, or the lines are.
    lines = stripes * geometry.channels / count
    assert scene.cycles <= 1.02 * max(lines, beats[0]) + 8 * geometry.block_beats + 20


@pytest.mark.parametrize("name", EVERY)
def test_a_stop_leaves_nothing_behind(name: str) -> None:
    """What was written until then belongs to requests; what comes later is written as ever."""
    geometry, count = GEOMETRIES[name], LINES[name]
    requests = drawn(geometry, count, 2, [5 * count * geometry.interleave + 3] * 4)
    whole = expected(requests)
    for at in range(4, 4 + 6 * by_size(1, 2, 8), 6):
        scene = Scene(
            geometry=geometry, line_blocks=count, requests=requests, stop_at=at, stall=0.3, seed=at
        )
        scene.run()
        found = scene.written()
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
