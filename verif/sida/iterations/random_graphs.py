"""Graphs with edges anywhere."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, random_array


def random_graph(seed: int, size: int = 60, density: float = 0.04) -> csr_array:
    """Directed edges of weights 1 to 9."""
    rng = np.random.default_rng(seed)
    found = csr_array(random_array((size, size), density=density, rng=rng))
    found.data[:] = rng.integers(1, 10, found.nnz)
    return found
