"""Whole tiles by SuiteSparse:GraphBLAS."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
import numpy.typing as npt

__all__ = ["NAMES", "tile_product"]

Array = npt.NDArray[Any]

_SEMIRINGS = {
    "mma": (gb.semiring.plus_times, gb.binary.plus),
    "minplus": (gb.semiring.min_plus, gb.binary.min),
    "maxplus": (gb.semiring.max_plus, gb.binary.max),
    "minmul": (gb.semiring.min_times, gb.binary.min),
    "maxmul": (gb.semiring.max_times, gb.binary.max),
    "minmax": (gb.semiring.min_max, gb.binary.min),
    "maxmin": (gb.semiring.max_min, gb.binary.max),
    "orand": (gb.semiring.lor_land, gb.binary.lor),
}
NAMES = (*_SEMIRINGS, "addnorm")


def tile_product(name: str, a: Array, b: Array, c: Array) -> Array:
    """``c (+) a (x) b`` of matrices of one NumPy type, in that type.

    The squared distances of addnorm come from three products, exact for small integers only.
    """
    if name == "addnorm":
        ones_a, ones_b = np.ones_like(a), np.ones_like(b)
        squares = tile_product("mma", a * a, ones_b, tile_product("mma", ones_a, b * b, c))
        return tile_product("mma", -2 * a, b, squares)
    semiring, plus = _SEMIRINGS[name]
    total = gb.Matrix.from_dense(c.astype(bool) if name == "orand" else c)
    total(plus) << gb.Matrix.from_dense(a).mxm(gb.Matrix.from_dense(b), semiring)
    dense: Array = total.to_dense(dtype=total.dtype)
    return dense.astype(c.dtype)
