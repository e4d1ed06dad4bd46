"""Readers and the writer of lines in the cycle model: every request and line; times on a DRAM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.channels.striped_writer import StripedWriter, extent_layout
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.sim.timing.striped.bus import step
from tilewright.sim.timing.striped.memory import Bus, Reader, Writer, bus
from tilewright.sim.timing.striped.writer import (
    put_extent,
    put_line,
    takes_extent,
    takes_line,
    writer_idle,
)
from tilewright.verif.channels.striped.written import written_channels
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped import reading
from tilewright.verif.timing.striped.pace import GEOMETRIES, Offers, Pace, Watch, pattern

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


pytestmark = pytest.mark.long


def check_readers(
    name: str, seed: int, readers: int, *, shared: bool = True, groups: list[int] | None = None
) -> None:
    """Compares the given number of readers, of random sizes, on one memory; ``groups``: see
    ``bus``."""
    geometry, line_blocks = GEOMETRIES[name]
    rng = np.random.default_rng([seed, readers, sum(name.encode())])
    kinds = [
        Reader(
            line_blocks=line_blocks,
            outstanding=int(rng.choice([2, 3, 4, 8, 16])),
            requests=int(rng.choice([2, 3, 8, 64])),
        )
        for _ in range(readers)
    ]
    pace = Pace.random(rng)
    sizes = {"count": by_size(6, 8, 40), "longest": by_size(6, 6, 12)}
    job = reading.Reading.random(geometry, kinds, rng, pace, cycles=20_000, **sizes)
    real = reading.on_rtl(job, shared=shared, groups=groups)
    machine = bus(geometry, readers=kinds, memory=pace.memory, shared=shared, groups=groups)
    assert reading.on_model(job, machine, len(real.idle[0])) == real, seed
    assert int(machine.channels["read"].sum()) == real.beats * geometry.beat_bytes


@pytest.mark.parametrize("name", slow_but([], GEOMETRIES, ["four", "three, lines of two"]))
def test_three_readers_that_share_the_channels(name: str) -> None:
    for seed in range(by_size(1, 1, 6)):
        check_readers(name, seed, 3)


@pytest.mark.parametrize("name", slow_but([], GEOMETRIES, ["two"]))
def test_a_reader_alone(name: str) -> None:
    for seed in range(by_size(1, 2, 6)):
        check_readers(name, seed, 1, shared=seed % 2 == 0)


@pytest.mark.parametrize("name", slow_but([], GEOMETRIES, ["four"]))
def test_groups_of_readers(name: str) -> None:
    """Readers of a group share an input of the channels' interconnects."""
    for seed in range(by_size(1, 1, 6)):
        check_readers(name, seed, 7, groups=[[3, 2, 1, 1], [1, 3, 3]][seed % 2])


def check_writer(geometry: ChannelGeometry, line_blocks: int, seed: int) -> None:
    """Compares a writer of any size, with random requests, in the model and on the RTL."""
    rng = np.random.default_rng([seed, geometry.channels, geometry.data_bits])
    outstanding, requests = int(rng.choice([1, 2, 4, 15, 16, 32])), int(rng.choice([1, 2, 4]))
    writer = Writer(
        line_blocks=line_blocks, outstanding=outstanding, requests=requests, blocks=1 + seed % 2
    )
    pace, count = Pace.random(rng), by_size(8, 12, 40)
    job = Writing.random(geometry, writer, rng, pace, cycles=20_000, count=count)
    real = on_rtl(job)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=pace.memory)
    assert on_model(job, machine, len(real.idle)) == real, seed
    assert int(machine.writer["bytes"][0]) == sum(size for _, size in job.extents)


@pytest.mark.parametrize("name", slow_but([], GEOMETRIES, ["four", "three, lines of two"]))
def test_every_line_and_extent(name: str) -> None:
    for seed in range(by_size(1, 2, 16)):
        check_writer(*GEOMETRIES[name], seed)


GIGAHERTZ = 2.0
HBMS = pytest.mark.parametrize("memory", [HBM, HBM_32], ids=lambda memory: memory.name)


def job(
    name: str, requests: list[tuple[int, int]], offers: list[int], cycles: int
) -> reading.Reading:
    """Requests to a reader, each offered from a cycle on; lines are taken at once."""
    geometry, line_blocks = GEOMETRIES[name]
    gate = np.zeros((1, cycles), np.uint8)
    gate[0, offers] = 1
    reader = Reader(line_blocks=line_blocks, outstanding=64)
    takes = np.ones((1, cycles), np.uint8)
    return reading.Reading(geometry, [reader], 1, [requests], gate, takes)


def run(
    work: reading.Reading, memory: MemoryModel, gigahertz: float = GIGAHERTZ
) -> tuple[reading.Seen, int]:
    """Runs the reads on the model; returns the record of the readers and the bytes moved."""
    machine = bus(work.geometry, readers=work.readers, memory=memory, gigahertz=gigahertz)
    seen = reading.on_model(work, machine, work.offers.shape[1])
    return seen, int(machine.channels["read"].sum())


@pytest.mark.slow
def test_a_block_alone_takes_what_its_commands_take() -> None:
    """A block on a closed row takes activate, column, data and controller time. It takes no
    activate when the row is open, and a precharge too when another row is."""
    geometry = GEOMETRIES["four"][0]
    far = geometry.channels * HBM.page_bytes
    places = [0, geometry.stripe_bytes, far * HBM.banks]
    asked = [100, 1000, 2000]
    work = job("four", [(at, 1) for at in places], asked, 3000)
    seen, moved = run(work, HBM)
    assert moved == 3 * HBM.access_bytes
    data = HBM.access_bytes / HBM.gigabytes
    hit = HBM.column + data + HBM.controller
    nanoseconds = [hit + HBM.activate, hit, hit + HBM.activate + HBM.precharge]
    for number, time in enumerate(nanoseconds):
        # The controller decides in the cycle after the address came; beats are sent from the one
        # on in which all is there.
        latency = int(1 + time * GIGAHERTZ) + 1
        alone = job("four", [(places[number], 1)], [asked[number]], 3000)
        flat, _ = run(alone, replace(FLAT, latency=latency))
        assert seen.lines[0][number] == flat.lines[0][0], number


@HBMS
@pytest.mark.slow
def test_a_long_run_is_as_fast_as_the_channels(memory: MemoryModel) -> None:
    """Rows are walked through one after the other, so that nearly every cycle has data."""
    geometry, _ = GEOMETRIES["eight"]
    size, cycles = 1 << 18, 6000
    work = job("eight", [(0, size)], [0], cycles)
    seen, moved = run(work, memory)
    assert moved == size
    assert seen.beats * geometry.beat_bytes == size
    least = size / geometry.channels / memory.gigabytes * GIGAHERTZ
    assert least <= seen.lines[0][-1] <= 1.05 * least + 200


@pytest.mark.slow
def test_the_clock_changes_the_memory_only() -> None:
    """A memory of half the clock is twice as fast in cycles."""
    work = job("eight", [(0, 1 << 18)], [0], 6000)
    slow, fast = (run(work, HBM, gigahertz)[0].lines[0][-1] for gigahertz in (2.0, 1.0))
    assert 1.9 < slow / fast < 2.1


@HBMS
@pytest.mark.slow
def test_writes_wait_for_the_queue(memory: MemoryModel) -> None:
    """A queue takes a block a place at once; others follow as fast as the memory writes."""
    geometry, line_blocks = GEOMETRIES["eight"]
    cycles, size = 12_000, 1 << 18
    ones = np.ones(cycles, np.uint8)
    writer = Writer(line_blocks=line_blocks, outstanding=64)
    work = Writing(geometry, writer, 20, [(0, size)], ones, ones)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=memory, gigahertz=GIGAHERTZ)
    seen = on_model(work, machine, cycles)
    assert seen.beats * geometry.beat_bytes == size
    ends = cycles - seen.idle[::-1].index(0)
    queued = memory.write_queue * geometry.interleave
    least = (size / geometry.channels - queued) / memory.gigabytes * GIGAHERTZ
    assert least <= ends <= 1.1 * least + 400


@pytest.mark.slow
def test_parts_of_accesses_count_whole() -> None:
    """A byte of a block moves an access; of a line, an access a block."""
    geometry, line_blocks = GEOMETRIES["six"]
    writer = Writer(line_blocks=line_blocks, outstanding=16)
    ones = np.ones(2000, np.uint8)
    extents = [(0, 1), (1 << 12, geometry.interleave), (1 << 13, geometry.interleave + 1)]
    work = Writing(geometry, writer, 20, extents, ones, ones)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=HBM)
    on_model(work, machine, 2000)
    accesses = 1 + 2 + 3
    assert int(machine.channels["written"].sum()) == accesses * HBM.access_bytes


def test_what_is_refused() -> None:
    geometry = ChannelGeometry(channels=2, interleave=2048)
    reader = Reader(line_blocks=1, outstanding=2)
    small = replace(HBM, page_bytes=1024)
    assert [
        refusal(lambda: bus(geometry, readers=[reader], memory=small)),
        refusal(lambda: bus(geometry, readers=[reader, reader], shared=False)),
    ] == [
        "`page_bytes` must be at least `interleave`, 2048, not 1024",
        "`readers` must be one if they are not `shared`, not 2",
    ]
