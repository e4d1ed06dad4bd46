"""Random jobs on any SIDA, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.jobs.sida import WINDOW_BASES
from tilewright.verif.sida.jobs import SidaRtl, check_job, random_job

__all__ = ["soak"]


def soak(device: SidaRtl, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A job of one product or of two. Returns the places and sizes of spilled vectors in memory,
    which hold anything afterwards."""
    placed = random_job(rng, device.config, device.memory_bytes, passes=int(rng.integers(1, 9)))
    check_job(device, placed)
    return [placed.spans[name] for name in WINDOW_BASES if name in placed.spans]
