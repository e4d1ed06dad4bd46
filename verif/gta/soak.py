"""Long products and vectors on any GTA, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.gta import GtaConfig, is_float
from tilewright.sim.gta.tiles.choice import DATAFLOWS
from tilewright.sim.gta.vector.rules import most_chain
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector
from tilewright.verif.kit.job_checks import JobRtl, QuietAtEnd

__all__ = ["soak"]

_MOST, _DEEPEST, _LONGEST = 90, 120, 6000
_SEGMENTS = (1, 1, 1, 2, 3, 4, 10)
"""Of K."""


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
