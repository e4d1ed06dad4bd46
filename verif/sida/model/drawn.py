"""Sparse matrices at random."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, random_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.result.products import Columns


def drawn(rng: np.random.Generator, size: int, fmt: str, density: float) -> Columns:
    """Square, elements anywhere."""
    matrix = csc_array(random_array((size, size), density=density, rng=rng))
    matrix.sort_indices()
    values = rng.integers(-9, 9, matrix.nnz) if fmt == "int32" else rng.normal(size=matrix.nnz)
    return Columns(
        pointers=matrix.indptr.astype(np.int64),
        rows=matrix.indices.astype(np.int64),
        values=encode(values, FORMATS[fmt]),
    )
