"""Jobs of a GTA."""

from typing import Any

import numpy as np

from tilewright.hw.spec.formats import FORMATS


def job(driver: Any, rng: np.random.Generator) -> Any:
    """D = A B in every format of the unit, on any bits, and element by element."""
    found = []
    for format in (*driver.config.integers, *driver.config.floats):
        bits = FORMATS[format].bits
        a, b = (
            rng.integers(0, 1 << 64, shape, np.uint64) >> np.uint64(64 - bits)
            for shape in ((5, 7), (7, 6))
        )
        found.append(driver.pgemm(format, a, b))
        found.append(driver.vector("mul", format, a.ravel(), b.ravel()[: a.size]))
    return found
