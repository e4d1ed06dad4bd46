"""Products with their bounds, by rows or outer."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.outer import simulate_outer
from tilewright.sim.matraptor.cycles.rows import Cycles, simulate
from tilewright.sim.matraptor.result.outer import by_columns
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.timing.dram import MemoryModel

PARALLEL = [(1, 1), (2, 2), (4, 2), (2, 4), (3, 3), (6, 2), (1, 8), (8, 8)]

"""Lanes and channels."""


def simulated(
    config: MatRaptorConfig, a: sp.csr_array, b: sp.csr_array, memory: MemoryModel, mode: str
) -> Cycles:
    """A product by the cycle model."""
    if mode == "rows":
        return simulate(config, a, b, memory=memory)
    left, right = (from_csr(m, config.layout) for m in (a, b))
    return simulate_outer(config, by_columns(config, left), right, a.shape[0], memory=memory)


def ones(matrix: sp.csr_array) -> sp.csr_array:
    """The same places, each with a one: a product counts products."""
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
