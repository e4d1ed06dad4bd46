"""Small configurations of MatRaptor and operands for its models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.sparse.c2sr import C2sr, from_csr
from tilewright.verif.c2sr.rows import NUMPY

DIVIDING = [(n, m) for n in range(1, 17) for m in range(1, 17) if n % m == 0 or m % n == 0]
"""Lanes and channels of which one divides the other."""


def config(**settings: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"data_bits": 128, **settings})


def some_matrix(
    rng: np.random.Generator, rows: int, cols: int, density: float, value: str = "fp32"
) -> Any:
    """Rows of different lengths, some empty; numbers whose sums round, some of them zeros."""
    kept = rng.random((rows, cols)) < density * rng.choice([0, 0.5, 1, 1.5], (rows, 1))
    if density == 1:
        kept[:] = True
    r, c = np.nonzero(kept)
    if value == "int32":
        data: npt.NDArray[Any] = rng.integers(-(2**31), 2**31, len(r))
    else:
        spread = 2.0 ** rng.integers(-4, 5, len(r))
        data = (rng.standard_normal(len(r)) * spread).astype(NUMPY[value]).astype(np.float64)
    data[rng.random(len(data)) < 0.05] = 0
    return sp.csr_array((data, (r, c)), shape=(rows, cols))


def operands(
    cfg: MatRaptorConfig, rng: np.random.Generator, rows: int, inner: int, cols: int, density: float
) -> tuple[Any, Any, C2sr, C2sr]:
    a = some_matrix(rng, rows, inner, density, cfg.value)
    b = some_matrix(rng, inner, cols, density, cfg.value)
    return a, b, from_csr(a, cfg.layout), from_csr(b, cfg.layout)


def scipy_structure(a: Any, b: Any) -> Any:
    """Returns the entries of the product as counts of terms, which never cancel."""
    ones = [sp.csr_array((np.ones(x.nnz, np.int64), x.indices, x.indptr), shape=x.shape)
            for x in (a, b)]  # fmt: skip
    found = ones[0] @ ones[1]
    found.sort_indices()
    return found
