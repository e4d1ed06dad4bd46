"""Random jobs on any SIDA: a few small ones, and any."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.jobs.sida import WINDOW_BASES, job_spec
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.sida.driver import SidaDevice
from tilewright.sim.sida.model import SidaModel, timeless
from tilewright.verif.sida.jobs import SidaRtl, check_job, random_job

_MOST_BYTES = 1 << 16
_LARGE = 30
"""Rows of a matrix whose late elements fill a buffer of 64."""


def exercise(device: SidaDevice, rng: np.random.Generator) -> int:
    """Compares random jobs with the model: one of each built semiring, with and without a second
    product, one with the transpose, and one whose matrix is too large for a small buffer. Only
    their arrays are written to memory. Returns their number."""
    config = device.config
    size = min(_MOST_BYTES, device.memory_bytes)
    built = config.operators
    for number, first in enumerate([*built, built[0], built[0]]):
        transposed, large = number == len(built), number == len(built) + 1
        one_product = number % 3 == 1 and number < len(built)
        second = None if one_product else built[number % len(built) - 1]
        placed = random_job(
            rng,
            config,
            size,
            size=_LARGE if large else int(rng.integers(1, 20)),
            shape="half" if large else None,
            semirings=(first, second),
            passes=1 + number % 2,
            transposed=transposed,
        )
        ends = []
        for one in (device, SidaModel(config, size)):
            for begin, count in placed.spans.values():
                one.write_memory(begin, placed.memory[begin : begin + count].tobytes())
            status = JobRegisters(one, job_spec(config)).submit(placed.registers)
            status.check()
            content = {
                name: one.read_memory(begin, count)
                for name, (begin, count) in placed.spans.items()
                if name not in WINDOW_BASES
            }
            ends.append((content, timeless(status.counts)))
        assert ends[0] == ends[1], placed.registers
    return len(built) + 2


def soak(device: SidaRtl, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A job of one product or of two. Returns the places and sizes of spilled vectors in memory,
    which hold anything afterwards."""
    placed = random_job(rng, device.config, device.memory_bytes, passes=int(rng.integers(1, 9)))
    check_job(device, placed)
    return [placed.spans[name] for name in WINDOW_BASES if name in placed.spans]
