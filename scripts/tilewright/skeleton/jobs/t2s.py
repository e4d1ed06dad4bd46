"""A job of an array."""

from typing import Any

import numpy as np

from tilewright.sim.t2s.images import operand_names
from tilewright.sim.t2s.job import outermost
from tilewright.sim.t2s.sizes import shape_of


def job(driver: Any, rng: np.random.Generator) -> Any:
    """The design on tensors that fill one tile."""
    program = driver.config.plan.program
    bounds = {name: loop.step for name, loop in outermost(program).items()}
    operands = {
        name: rng.integers(0, 4, shape_of(program.tensor(name).dimensions, bounds))
        for name in operand_names(program)
    }
    return driver.compute(bounds, **operands)
