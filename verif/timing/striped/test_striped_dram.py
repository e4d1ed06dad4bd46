"""Readers and a writer of lines in the cycle model, on a DRAM: its own arithmetic, its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.sim.timing.striped.memory import Reader, Writer, bus
from tilewright.verif.kit.commands import refusal
from tilewright.verif.timing.striped import reading, writing
from tilewright.verif.timing.striped.pace import GEOMETRIES

pytestmark = pytest.mark.long

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
    work = writing.Writing(geometry, writer, 20, [(0, size)], ones, ones)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=memory, gigahertz=GIGAHERTZ)
    seen = writing.on_model(work, machine, cycles)
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
    work = writing.Writing(geometry, writer, 20, extents, ones, ones)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=HBM)
    writing.on_model(work, machine, 2000)
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
