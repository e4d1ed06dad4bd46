"""A job of a SIDA."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tilewright import formats
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.iterations.problem import Problem

PROGRAM = """
vector x
vector z
e1:
    store z, y
    out y
e2:
    store x, y
    out y
"""
"""Both products as they are: z = A x, then x = A z."""


def job(driver: Any, rng: np.random.Generator) -> Any:
    """Two products with a sparse matrix in one pass over it."""
    config, size = driver.config, 8
    dense = rng.integers(1, 4, (size, size)) * (rng.random((size, size)) < 0.3)
    start = formats.to_words(rng.integers(0, 4, (size, 1)), config.value)
    problem = Problem(
        program=assemble(PROGRAM),
        semiring=config.operators[0],
        matrix=columns_of(sp.csr_array(dense), config.format),
        x=start,
        scalars={},
        vectors={"x": start, "z": start},
        stop=None,
    )
    return driver.solve(problem, 2).vectors
