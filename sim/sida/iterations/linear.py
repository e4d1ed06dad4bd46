"""Systems of linear equations: means over neighbours, conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array

from ....hw.spec.semirings import SEMIRINGS
from ...numbers.values import decode
from ..result.products import Rules
from .graphs import columns_of, shares, vector_of
from .problem import Problem, Stop
from .programs import LABELS, PIPELINED

__all__ = ["labels", "pipelined_gradients"]

Floats = npt.NDArray[np.float64]


def labels(rules: Rules, graph: csr_array, given: npt.ArrayLike, *, tolerance: float) -> Problem:
    """Label propagation of two classes: the first vertices have given values, the others become
    the weighted means of their neighbours, from 1/2 on, until they move by less than ``tolerance``
    a vertex in the 1-norm. Vertices without neighbours keep 1/2.

    Raises ValueError for weights that are not positive or not symmetric, or more values than
    vertices.
    """
    size, fmt = graph.shape[0], rules.fmt
    classes = np.asarray(given, np.float64)
    if len(classes) > size:
        raise ValueError(f"`given` must be at most {size} values, not {len(classes)}")
    if graph.nnz and graph.data.min() <= 0:
        raise ValueError(f"`graph` must have positive weights, not {graph.data.min():g}")
    if (graph != graph.T).nnz:
        raise ValueError("`graph` must be symmetric")
    degrees, inverse = shares(graph, axis=0)
    known = np.zeros(size)
    known[: len(classes)] = 1
    known[degrees == 0] = 1
    start = np.full(size, 0.5)
    start[: len(classes)] = classes
    values = vector_of(start, fmt)
    return Problem(
        program=LABELS,
        semiring=SEMIRINGS["mma"],
        matrix=columns_of(graph @ diags_array(inverse), fmt),
        x=values,
        scalars={},
        vectors={"known": vector_of(known, fmt), "x": values, "z": values},
        stop=Stop(reductions=("moved_1", "moved_2"), limit=size * tolerance),
    )


def pipelined_gradients(
    rules: Rules, matrix: Any, right: npt.ArrayLike, *, tolerance: float
) -> Problem:
    """The solution of ``matrix`` times it equals ``right``, from 0 on, until the residual is less
    than ``tolerance`` times the right side, in the 2-norm, or nothing is left of it in the format.
    The matrix must be symmetric, and positive definite.

    Raises ValueError if it is not symmetric, or the right side is 0.
    """
    fmt, size = rules.fmt, matrix.shape[0]
    symmetric = csr_array(matrix)
    if (symmetric != symmetric.T).nnz:
        raise ValueError("`matrix` must be symmetric")
    b = np.asarray(right, np.float64)
    square = float(b @ b)
    if not square:
        raise ValueError("`right` must not be 0")
    image = symmetric @ b
    least = float(decode(1, fmt))
    nothing = vector_of(np.zeros(size), fmt)
    first = vector_of(image, fmt)
    return Problem(
        program=PIPELINED,
        semiring=SEMIRINGS["mma"],
        matrix=columns_of(symmetric, fmt),
        x=first,
        # No step before: its direction counts for nothing.
        scalars={
            "used_2": np.inf,
            "step_2": 1.0,
            "square_2": square,
            "curve_2": float(image @ b),
        },
        vectors={
            "residual": vector_of(b, fmt),
            "residual_image": first,
            **dict.fromkeys(("image", "direction_image", "direction", "x", "z"), nothing),
        },
        stop=Stop(reductions=("square_1", "square_2"), limit=max(tolerance**2 * square, least)),
    )
