"""Jobs of a converter."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tilewright import formats


def job(driver: Any, rng: np.random.Generator) -> Any:
    """A sparse matrix from CSR to C2SR and back."""
    dense = rng.integers(1, 9, (13, 9)) * (rng.random((13, 9)) < 0.3)
    matrix = formats.to_c2sr(sp.csr_array(dense), driver.config.layout)
    packed = driver.convert("csr_to_c2sr", matrix)
    return formats.from_c2sr(driver.convert("c2sr_to_csr", packed)).toarray()
