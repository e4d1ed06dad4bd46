"""Jobs of many iterations on any array, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.verif.kit.job_checks import JobRtl

from .unit.jobs import check_case, largest_case_bytes, random_case

__all__ = ["soak"]

_MOST = 8
"""Iterations of an outermost loop."""


def soak(device: JobRtl[T2sConfig], rng: np.random.Generator) -> None:
    """A job of any bounds, as large as memory holds."""
    config, most = device.config, _MOST
    while most > 1 and 2 * largest_case_bytes(config, most) > device.memory_bytes:
        most -= 1
    check_case(device, random_case(rng, config, device.memory_bytes, most))
