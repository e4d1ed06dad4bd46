"""A few small products and vectors on any GTA, through its driver."""

from __future__ import annotations

import numpy as np
from tilewright.sim.gta.driver import GtaDevice
from tilewright.sim.gta.vector.rules import most_chain
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector

__all__ = ["exercise"]


def exercise(device: GtaDevice, rng: np.random.Generator) -> int:
    """A product of each format in each dataflow, and some vectors; returns their number."""
    config, count = device.config, 0
    cases = [(name, flow) for name in config.integers for flow in ("ws", "is", "os")]
    cases += [(name, "os") for name in config.floats]
    whole = [name for name in config.integers if most_chain(config, name)]
    cases += [(name, "simd") for name in (*whole, *config.floats)]
    for name, flow in cases:
        check_product(device, random_case(rng, config, most=9, format=name, dataflow=flow))
        count += 1
    for name in (*config.integers, *config.floats):
        for _ in range(3):
            check_vector(device, random_vector(rng, config, most=40, format=name))
            count += 1
    return count
