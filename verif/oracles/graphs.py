"""Whole tiles, and products with sparse matrices, by SuiteSparse:GraphBLAS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphblas as gb
import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

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


def vector_product(name: str, x: Array, matrix: csc_array) -> Array:
    """``y[j] = (+)_i x[i] (x) matrix[i, j]`` over the elements that are stored; NaN in float64
    where a column has none.

    The squared distances of addnorm come from three products, exact for small integers only.
    """
    if name == "addnorm":
        squares, ones = matrix.copy(), matrix.copy()
        squares.data = matrix.data**2
        ones.data = np.ones_like(matrix.data)
        first, second, third = (
            vector_product("mma", vector, other)
            for vector, other in ((x**2, ones), (-2 * x, matrix), (np.ones_like(x), squares))
        )
        whole: Array = first + second + third
        return whole
    vector = gb.Vector.from_dense(x)
    if name == "aril-add":
        semiring = gb.semiring.plus_second
        vector = vector.select("!=", 0).new()
    else:
        semiring, _ = _SEMIRINGS[name]
    left = matrix.tocoo()
    values = left.data.astype(bool) if name == "orand" else left.data
    other = gb.Matrix.from_coo(left.row, left.col, values, nrows=left.shape[0], ncols=left.shape[1])
    places, found = vector.vxm(other, semiring).new().to_coo()
    result = np.full(left.shape[1], np.nan)
    result[places] = found
    return result
