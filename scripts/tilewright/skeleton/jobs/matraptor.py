"""A job of a MatRaptor."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tilewright import formats


def job(driver: Any, rng: np.random.Generator) -> Any:
    """A product of two sparse matrices, row by row."""

    def matrix(rows: int, columns: int) -> Any:
        dense = rng.integers(1, 9, (rows, columns)) * (rng.random((rows, columns)) < 0.3)
        return formats.to_c2sr(sp.csr_array(dense), driver.config.layout)

    return formats.from_c2sr(driver.multiply(matrix(9, 7), matrix(7, 8))).toarray()
