"""A few small conversions on any converter, through its driver."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.sim.c2sr_converter.driver import ConverterDevice, ConverterDriver
from tilewright.verif.c2sr.cases import matrix_of

__all__ = ["exercise"]

_SHAPES = (1, 1), (13, 9)


def exercise(device: ConverterDevice, rng: np.random.Generator) -> int:
    """Matrices of any patterns there and back: what comes is what went. Returns the number of
    conversions."""
    driver = ConverterDriver(device)
    count = 0
    for rows, cols in _SHAPES:
        lengths = rng.integers(0, min(cols, 5) + 1, rows)
        matrix = matrix_of(rng, device.config, lengths, cols)
        for direction in MODES:
            found = driver.convert(direction, matrix)
            for one, other in zip(found.patterns(), matrix.patterns(), strict=True):
                assert np.array_equal(one, other), direction
            count += 1
    return count
