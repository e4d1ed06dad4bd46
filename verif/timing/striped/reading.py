"""Readers of lines that share a memory: the hardware, and the cycle model, on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.axi.interconnect import ReadInterconnect
from tilewright.hw.channels.striped_reader import StripedReader, bytes_layout
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.hw.stream.fork_join import connect_fields
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.striped.bus import step
from tilewright.sim.timing.striped.memory import Bus, Reader
from tilewright.sim.timing.striped.reader import (
    accepts,
    ask,
    has_line,
    is_last,
    reader_idle,
    take_line,
)
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Manner
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped.pace import Offers, Pace, Takes, Watch, pattern

_MEMORY = 1 << 15


@dataclass
class Seen:
    """Record of each reader: cycles in which requests and lines were accepted, whether those were
    the last of their request, ``idle`` in every cycle, beats at ``r``."""

    asked: list[list[int]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    lasts: list[list[int]] = field(default_factory=list)
    idle: list[list[int]] = field(default_factory=list)
    beats: int = 0


@dataclass
class Reading:
    """Random requests to each of some readers, and when they are offered and lines taken.

    ``requests``: by reader (address, bytes); ``offers``, ``takes``: (readers, cycles) patterns.
    """

    geometry: ChannelGeometry
    readers: list[Reader]
    latency: int
    requests: list[list[tuple[int, int]]]
    offers: npt.NDArray[np.uint8]
    takes: npt.NDArray[np.uint8]

    @classmethod
    def random(
        cls,
        geometry: ChannelGeometry,
        readers: list[Reader],
        rng: np.random.Generator,
        pace: Pace,
        *,
        cycles: int,
        count: int,
        longest: int = 12,
    ) -> Reading:
        """``count`` requests to each reader, of up to ``longest`` lines; half of them are short."""
        requests = []
        for reader in readers:
            blocks = reader.line_blocks
            line = blocks * geometry.interleave
            # Alignment that the hardware accepts: see `StripedReader`.
            aligned = (blocks & -blocks) * geometry.interleave
            places = rng.integers(0, _MEMORY // aligned, count) * aligned
            sizes = rng.integers(1, longest * line + 1, count)
            short = rng.random(count) < 0.5
            sizes[short] = rng.integers(1, line + 1, int(short.sum()))
            requests.append([(int(at), int(size)) for at, size in zip(places, sizes, strict=True)])
        patterns = [
            np.stack([pattern(rng, cycles, pauses) for _ in readers])
            for pauses in (pace.gap, pace.wait)
        ]
        return cls(geometry, readers, pace.latency, requests, *patterns)


class _Top(wiring.Component):
    """Readers, and behind them an interconnect for each channel, if ``shared``; several of a group
    have one of their own before it."""

    def __init__(self, job: Reading, *, shared: bool, groups: Sequence[int]) -> None:
        self._geometry, self._shared = job.geometry, shared
        self._groups = groups
        bits = max((reader.outstanding - 1).bit_length() for reader in job.readers)
        self.readers = [
            StripedReader(
                job.geometry,
                line_blocks=reader.line_blocks,
                outstanding=reader.outstanding,
                requests=reader.requests,
                id_bits=bits,
            )
            for reader in job.readers
        ]
        widths = {"addr_bits": job.geometry.addr_bits, "data_bits": job.geometry.data_bits}
        channels = range(job.geometry.channels if shared else 0)
        self._joints = [
            [ReadInterconnect(size, slot_bits=bits, **widths) for _ in channels if size > 1]
            for size in groups
        ]
        inner = max([bits, *(joint.id_bits for its in self._joints for joint in its)])
        self.buses = [ReadInterconnect(len(groups), slot_bits=inner, **widths) for _ in channels]
        super().__init__({})

    def ports(self, channel: int) -> tuple[Any, Any]:
        """Returns the AR and R ports that a channel's memory connects to."""
        bus: Any = self.buses[channel] if self._shared else None
        if bus is not None:
            return bus.ar, bus.r
        reader: Any = self.readers[0]
        return reader.ar[channel], reader.r[channel]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, reader in enumerate(self.readers):
            m.submodules[f"reader_{number}"] = reader
        for channel, bus in enumerate(self.buses):
            m.submodules[f"bus_{channel}"] = bus
            first = 0
            for group, size in enumerate(self._groups):
                its = self.readers[first : first + size]
                first += size
                ar, r = bus.reader_ar[group], bus.reader_r[group]
                if size == 1:
                    _connect(m, its[0].ar[channel], ar)
                    _connect(m, r, its[0].r[channel])
                    continue
                joint = self._joints[group][channel]
                m.submodules[f"joint_{group}_{channel}"] = joint
                _connect(m, joint.ar, ar)
                _connect(m, r, joint.r)
                for number, reader in enumerate(its):
                    wiring.connect(m, reader.ar[channel], joint.reader_ar[number])
                    wiring.connect(m, joint.reader_r[number], reader.r[channel])
        return m


def _connect(m: Module, source: Any, sink: Any) -> None:
    """The same fields, IDs as wide as the sink has them."""
    names = [name for name, _ in sink.payload.shape()]
    connect_fields(m, source, sink, **{name: source.payload[name] for name in names})


def on_rtl(job: Reading, *, shared: bool = True, groups: Sequence[int] | None = None) -> Seen:
    """Runs in Amaranth's simulator until all lines have arrived; ``groups``: see ``bus``."""
    top = _Top(job, shared=shared, groups=groups or [1] * len(job.readers))
    layout = bytes_layout(job.geometry)
    content = bytes(_MEMORY + 64 * job.geometry.stripe_bytes)
    manner = Manner(latency=(job.latency, job.latency))
    memories = [
        ChannelMemory(*top.ports(channel), job.geometry, channel, content, manner)
        for channel in range(job.geometry.channels)
    ]
    sources, sinks, watches = [], [], []
    for number, reader in enumerate(top.readers):
        words = [
            int(layout.const({"address": at, "bytes": size}).as_bits())
            for at, size in job.requests[number]
        ]
        sources.append(Offers(reader.request, words, job.offers[number]))
        sinks.append(Takes(reader.o, job.takes[number]))
        watches.append(Watch(reader.idle))
    expected = sum(len(requests) for requests in job.requests)

    def until(sim: Any, cycle: int) -> bool:
        done = sum(sum(sink.lasts) for sink in sinks) == expected
        return done and all(sim.get(reader.idle) for reader in top.readers)

    agents: list[Agent] = [*sources, *sinks, *watches, *memories]
    run_agents(top, agents, until=until, most=job.offers.shape[1])
    return Seen(
        asked=[source.cycles for source in sources],
        lines=[sink.cycles for sink in sinks],
        lasts=[sink.lasts for sink in sinks],
        idle=[watch.values for watch in watches],
        beats=sum(memory.beats for memory in memories),
    )


@compiled
def _run(
    b: Bus,
    cycles: int,
    requests: Any,
    counts: Any,
    offers: Any,
    takes: Any,
    asked: Any,
    lines: Any,
    idle: Any,
) -> None:
    """All cycles; ``lines`` [cycle, reader]: 1 a line is taken, 2: the last of its request."""
    for now in range(cycles):
        for reader in range(b.c.readers):
            idle[now, reader] = reader_idle(b, reader)
            given = counts[reader, 0]
            if not counts[reader, 2] and given < counts[reader, 1] and offers[reader, now]:
                counts[reader, 2] = 1
            if counts[reader, 2] and accepts(b, reader):
                ask(b, reader, requests[reader, given, 0], requests[reader, given, 1])
                counts[reader, 0] += 1
                counts[reader, 2] = 0
                asked[now, reader] = 1
            if takes[reader, now] and has_line(b, reader):
                lines[now, reader] = 2 if is_last(b, reader) else 1
                take_line(b, reader)
        step(b, now)


def on_model(job: Reading, machine: Bus, cycles: int) -> Seen:
    """Runs ``cycles`` cycles of the model."""
    count = len(job.readers)
    most = max(len(requests) for requests in job.requests)
    requests = np.zeros((count, most, 2), np.int64)
    # Requests given, those that there are, whether one is offered.
    counts = np.zeros((count, 3), np.int64)
    for number, its in enumerate(job.requests):
        requests[number, : len(its)] = its
        counts[number, 1] = len(its)
    asked, lines, idle = (np.zeros((cycles, count), np.uint8) for _ in range(3))
    _run(machine, cycles, requests, counts, job.offers, job.takes, asked, lines, idle)

    def when(events: npt.NDArray[np.uint8], number: int) -> list[int]:
        found: list[int] = np.flatnonzero(events[:, number]).tolist()
        return found

    return Seen(
        asked=[when(asked, number) for number in range(count)],
        lines=[when(lines, number) for number in range(count)],
        lasts=[(lines[when(lines, n), n] - 1).tolist() for n in range(count)],
        idle=[idle[:, number].tolist() for number in range(count)],
        beats=int(machine.readers["beats"].sum()),
    )
