"""Large products on any MatRaptor, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.verif.matraptor.cases import random_case
from tilewright.verif.matraptor.jobs import SparseRtl, check_case
from tilewright.verif.matraptor.outer.outer_cases import in_rows, random_outer
from tilewright.verif.matraptor.outer.outer_jobs import check_outer

__all__ = ["soak"]

_MOST = 60


def soak(device: SparseRtl, rng: np.random.Generator) -> None:
    """A product in either mode of the device."""
    config, size = device.config, device.memory_bytes
    if config.outer_product and rng.integers(2):
        check_outer(rng, device, random_outer(rng, config, size))
        return
    case = random_case(rng, config, size, most=_MOST)
    check_case(rng, device, in_rows(rng, case) if config.outer_product else case)
