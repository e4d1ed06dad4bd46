"""Large products on any Tensaurus, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.verif.tensaurus.jobs import TensorRtl, check_case, random_case

__all__ = ["soak"]

_MOST, _VALUES = 16, 1200


def soak(device: TensorRtl, rng: np.random.Generator) -> None:
    """A product of any kernel, of a sparse or a dense tensor, with sums on chip or in memory."""
    case = random_case(rng, device.config, store=None, most=_MOST, values=_VALUES)
    check_case(rng, device, case)
