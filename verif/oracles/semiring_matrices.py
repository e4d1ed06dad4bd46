"""Semiring products of whole matrices in plain NumPy, on numbers without rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_REDUCE: dict[str, Callable[[Array, Array], Array]] = {
    "mma": np.add,
    "minplus": np.minimum,
    "maxplus": np.maximum,
    "minmul": np.minimum,
    "maxmul": np.maximum,
    "minmax": np.minimum,
    "maxmin": np.maximum,
    "orand": lambda x, y: ((x != 0) | (y != 0)).astype(x.dtype),
    "addnorm": np.add,
}
_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "mma": np.multiply,
    "minplus": np.add,
    "maxplus": np.add,
    "minmul": np.multiply,
    "maxmul": np.multiply,
    "minmax": np.maximum,
    "maxmin": np.minimum,
    "orand": lambda x, y: ((x != 0) & (y != 0)).astype(x.dtype),
    "addnorm": lambda x, y: (x - y) ** 2,
}


def matrix_product(name: str, a: Array, b: Array, c: Array | None = None) -> Array:
    """``C (+) A (x) B``, one k after the other; without C the first product begins."""
    total = c
    for k in range(a.shape[1]):
        term = _COMBINE[name](a[:, k : k + 1], b[k : k + 1, :])
        if total is None and name == "orand":
            total = np.zeros_like(term)
        total = term if total is None else _REDUCE[name](total, term)
    assert total is not None
    return total
