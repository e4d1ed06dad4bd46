"""Large products on any engine, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.engine.jobs import EngineRtl, check_job, fill, random_job

__all__ = ["soak"]

_MOST = 48, 48, 48
"""M, N and K."""


def soak(device: EngineRtl, rng: np.random.Generator) -> None:
    """Two products of any operations, the second on the memory that the first one left."""
    model = EngineModel(device.config, device.memory_bytes)
    fill(rng, device, model)
    for _ in range(2):
        check_job(device, model, random_job(rng, device.config, device.memory_bytes, most=_MOST))
