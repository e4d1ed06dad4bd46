"""Conversions of large matrices on any converter, for soak runs."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.verif.c2sr.jobs import Converter, any_case, check

__all__ = ["soak"]

_ROWS, _COLS = 700, 40


def soak(device: Converter, rng: np.random.Generator) -> None:
    """One conversion in each direction."""
    for direction in MODES:
        rows = int(rng.integers(1, _ROWS)) if rng.integers(4) else None
        case = any_case(rng, device.config, direction, rows=rows, most=_COLS if rows else None)
        check(rng, device, case)
