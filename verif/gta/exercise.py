"""Products and vectors on any GTA, through its driver: a few small ones, and long ones."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.gta import GtaConfig, is_float
from tilewright.sim.gta.driver import GtaDevice
from tilewright.sim.gta.tiles.choice import DATAFLOWS
from tilewright.sim.gta.vector.tiling import most_chain
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector
from tilewright.verif.kit.job_checks import JobRtl, QuietAtEnd

_MOST, _DEEPEST, _LONGEST = 90, 120, 6000
_SEGMENTS = (1, 1, 1, 2, 3, 4, 10)
"""Numbers of segments of K."""


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


def soak(device: JobRtl[GtaConfig], rng: np.random.Generator) -> None:
    """A product of each format, in any dataflow, and a vector of any function."""
    config, quiet = device.config, QuietAtEnd(device)
    for format in (*config.integers, *config.floats):
        flows = ["auto", "os"] if is_float(format) else list(DATAFLOWS)
        if is_float(format) or most_chain(config, format):
            flows.append("simd")
        case = random_case(
            rng,
            config,
            most=_MOST,
            deepest=_DEEPEST,
            format=format,
            dataflow=str(rng.choice(flows)),
            segments=int(rng.choice(_SEGMENTS)),
        )
        check_product(quiet, case)
        check_vector(quiet, random_vector(rng, config, most=_LONGEST, format=format))
