"""Jobs on any array: a few small ones through its driver, and long ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.driver import Driver, T2sDevice
from tilewright.sim.t2s.images import operand_names
from tilewright.sim.t2s.job import outermost
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import shape_of
from tilewright.verif.kit.job_checks import JobRtl

from .unit.jobs import check_case, largest_case_bytes, random_case, random_sparse, random_words

_MOST = 8
"""Iterations of an outermost loop."""


def exercise(device: T2sDevice, rng: np.random.Generator) -> int:
    """Bounds of one, bounds that fill a tile, and bounds that no tile divides: any patterns, held
    against the model. Returns the number of jobs."""
    config = device.config
    program = config.plan.program
    steps = {name: loop.step for name, loop in outermost(program).items()}
    jobs = [
        dict.fromkeys(program.indices, 1),
        {name: steps[name] for name in program.indices},
        {name: steps[name] + 1 for name in program.indices},
    ]
    for bounds in jobs:
        operands: dict[str, Any] = {
            name: random_words(
                rng,
                config.plan.word_format(name),
                shape_of(program.tensor(name).dimensions, bounds),
            )
            for name in operand_names(program)
        }
        operands |= random_sparse(rng, config.plan, bounds)
        model = T2sModel(config, device.memory_bytes)
        found, wanted = (Driver(one).run_words(bounds, **operands) for one in (device, model))
        assert np.array_equal(found, wanted), bounds
    return len(jobs)


def soak(device: JobRtl[T2sConfig], rng: np.random.Generator) -> None:
    """A job of any bounds, as large as memory holds."""
    config, most = device.config, _MOST
    while most > 1 and 2 * largest_case_bytes(config, most) > device.memory_bytes:
        most -= 1
    check_case(device, random_case(rng, config, device.memory_bytes, most))
