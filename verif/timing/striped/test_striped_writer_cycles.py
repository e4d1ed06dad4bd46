"""The writer of lines in the cycle model: every extent, every line, ``idle`` as in the hardware."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.striped.memory import Reader, Writer, bus
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.timing.striped.pace import GEOMETRIES, Pace
from tilewright.verif.timing.striped.writing import Writing, on_model, on_rtl

pytestmark = pytest.mark.long


def check(geometry: ChannelGeometry, line_blocks: int, seed: int) -> None:
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
        check(*GEOMETRIES[name], seed)
