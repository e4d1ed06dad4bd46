"""Readers and the writer of lines in the cycle model: every request, every extent, every line,
``idle`` as in the hardware."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.striped.memory import Reader, Writer, bus
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.timing.striped import reading, writing
from tilewright.verif.timing.striped.pace import GEOMETRIES, Pace

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
    job = writing.Writing.random(geometry, writer, rng, pace, cycles=20_000, count=count)
    real = writing.on_rtl(job)
    nobody = [Reader(line_blocks=1, outstanding=2)]
    machine = bus(geometry, readers=nobody, writer=writer, memory=pace.memory)
    assert writing.on_model(job, machine, len(real.idle)) == real, seed
    assert int(machine.writer["bytes"][0]) == sum(size for _, size in job.extents)


@pytest.mark.parametrize("name", slow_but([], GEOMETRIES, ["four", "three, lines of two"]))
def test_every_line_and_extent(name: str) -> None:
    for seed in range(by_size(1, 2, 16)):
        check_writer(*GEOMETRIES[name], seed)
