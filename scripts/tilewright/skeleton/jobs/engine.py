"""A job of a tile engine."""

from typing import Any

import numpy as np


def job(driver: Any, rng: np.random.Generator) -> Any:
    """D = A B + C in every operation of the engine, on whole numbers."""
    a, b, c = (rng.integers(-9, 10, shape) for shape in ((5, 7), (7, 6), (5, 6)))
    return [driver.compute(operation, a, b, c) for operation in driver.config.unit.operations]
