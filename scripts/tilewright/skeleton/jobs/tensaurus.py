"""A job of a Tensaurus."""

from typing import Any

import numpy as np

from tilewright import formats
from tilewright.sim.tensaurus.driver import plan_of
from tilewright.sim.tensaurus.work import Work


def job(driver: Any, rng: np.random.Generator) -> Any:
    """A sparse matrix times a dense one (SpMM)."""
    rows, inner, columns = 6, 5, 4
    places = np.argwhere(rng.random((rows, inner)) < 0.4)
    values = rng.integers(1, 9, len(places)).astype(float)
    matrix = formats.Tensor(shape=(rows, inner), indices=places, values=values)
    dense = formats.to_words(rng.integers(-9, 10, (inner, columns)), driver.config.value)
    work = Work(kernel="mm", shape=(rows, inner), ranks=(columns,))
    return driver.sparse(work, plan_of(driver.config, work, matrix).cut, matrix, {1: dense})
