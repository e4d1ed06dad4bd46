"""A writer of lines: the hardware, and the cycle model, on the same extents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.channels.striped_writer import StripedWriter, extent_layout
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.striped.bus import step
from tilewright.sim.timing.striped.memory import Bus, Writer
from tilewright.sim.timing.striped.writer import (
    put_extent,
    put_line,
    takes_extent,
    takes_line,
    writer_idle,
)
from tilewright.verif.channels.striped.written import written_channels
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped.pace import Offers, Pace, Watch, pattern

_BYTES_BITS = 20
_SETTLES = 4


@dataclass
class Seen:
    """Cycles in which extents and lines were taken, ``idle`` in every cycle, beats written."""

    asked: list[int]
    lines: list[int]
    idle: list[int]
    beats: int


@dataclass
class Writing:
    """Random extents (address, bytes), and when they and their lines are offered: patterns."""

    geometry: ChannelGeometry
    writer: Writer
    latency: int
    extents: list[tuple[int, int]]
    offers: npt.NDArray[np.uint8]
    puts: npt.NDArray[np.uint8]

    @classmethod
    def random(
        cls,
        geometry: ChannelGeometry,
        writer: Writer,
        rng: np.random.Generator,
        pace: Pace,
        *,
        cycles: int,
        count: int,
        longest: int = 12,
    ) -> Writing:
        """``count`` extents of up to ``longest`` lines, one behind the other; half are short."""
        line = writer.line_blocks * geometry.interleave
        extents, place = [], 0
        for _ in range(count):
            most = line if rng.random() < 0.5 else longest * line
            size = int(rng.integers(1, most + 1))
            extents.append((place * line, size))
            place += -(-size // line) + int(rng.integers(0, 4))
        patterns = [pattern(rng, cycles, pauses) for pauses in (pace.gap, pace.wait)]
        return cls(geometry, writer, pace.latency, extents, *patterns)

    @property
    def lines(self) -> int:
        """Lines of all extents."""
        line = self.writer.line_blocks * self.geometry.interleave
        return sum(-(-size // line) for _, size in self.extents)


def on_rtl(job: Writing) -> Seen:
    """Runs in Amaranth's simulator until all extents are written."""
    dut: Any = StripedWriter(
        job.geometry,
        line_blocks=job.writer.line_blocks,
        bytes_bits=_BYTES_BITS,
        outstanding=job.writer.outstanding,
        requests=job.writer.requests,
        blocks=job.writer.blocks,
    )
    layout = extent_layout(job.geometry, _BYTES_BITS)
    words = [int(layout.const({"address": at, "bytes": n}).as_bits()) for at, n in job.extents]
    extents = Offers(dut.request, words, job.offers)
    lines = Offers(dut.i, [0] * job.lines, job.puts)
    idle = Watch(dut.idle)
    memories = written_channels(job.geometry, dut, latency=job.latency)

    def until(sim: Any, cycle: int) -> bool:
        return len(lines.cycles) == job.lines and all(idle.values[-_SETTLES:])

    agents: list[Agent] = [extents, lines, idle, *memories]
    run_agents(dut, agents, until=until, most=len(job.offers))
    beats = sum(memory.beats for memory in memories)
    return Seen(extents.cycles, lines.cycles, idle.values, beats)


@compiled
def _run(b: Bus, cycles: int, extents: Any, lines: int, offers: Any, puts: Any, seen: Any) -> None:
    """``seen`` [cycle] -> (an extent is taken, a line is, idle)."""
    given = sent = 0
    offered = line = False
    for now in range(cycles):
        seen[now, 2] = writer_idle(b)
        line = line or (sent < lines and puts[now] != 0)
        if line and takes_line(b):
            put_line(b)
            seen[now, 1] = 1
            sent += 1
            line = False
        offered = offered or (given < len(extents) and offers[now] != 0)
        if offered and takes_extent(b):
            put_extent(b, extents[given, 0], extents[given, 1])
            seen[now, 0] = 1
            given += 1
            offered = False
        step(b, now)


def on_model(job: Writing, machine: Bus, cycles: int) -> Seen:
    """Runs ``cycles`` cycles of the model."""
    seen = np.zeros((cycles, 3), np.uint8)
    _run(machine, cycles, np.array(job.extents), job.lines, job.offers, job.puts, seen)
    asked, lines = (np.flatnonzero(seen[:, n]).tolist() for n in range(2))
    beats = int(machine.channels["written"].sum()) // job.geometry.beat_bytes
    return Seen(asked, lines, seen[:, 2].tolist(), beats)
