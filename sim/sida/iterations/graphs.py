"""Computations on graphs: matrices, operands and scalars of their programs.

A graph is a square SciPy matrix; element (i, j) is the edge from i to j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, diags_array

from ....hw.spec.formats import Format
from ....hw.spec.semirings import SEMIRINGS
from ...numbers.values import Patterns, decode, encode
from ..result.products import Columns, Rules
from .problem import Problem, Solution, Stop
from .programs import CORENESS, PAGERANK, PATHS, REACH

__all__ = [
    "columns_of",
    "core_numbers",
    "coreness",
    "levels",
    "pagerank",
    "reach",
    "shares",
    "shortest_paths",
    "transitions",
    "undirected",
    "vector_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def columns_of(matrix: Any, fmt: Format) -> Columns:
    """A SciPy matrix by columns, values rounded to a format."""
    found = csc_array(matrix)
    found.sum_duplicates()
    found.sort_indices()
    numbers = found.data if fmt.name != "int32" else found.data.astype(np.int64)
    return Columns(
        pointers=found.indptr.astype(np.int64),
        rows=found.indices.astype(np.int64),
        values=encode(numbers, fmt),
    )


def vector_of(values: npt.ArrayLike, fmt: Format) -> Patterns:
    """(size, 1) patterns."""
    numbers = np.asarray(values, np.int64 if fmt.name == "int32" else np.float64)
    return encode(numbers, fmt)[:, None]


def transitions(graph: csr_array) -> tuple[csr_array, Ints]:
    """Divides each row by its sum; returns the rows without a sum, too.

    Raises ValueError for a negative weight.
    """
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(f"`graph` must have no negative weights, not {graph.data.min():g}")
    sums, inverse = shares(graph, axis=1)
    return csr_array(diags_array(inverse) @ graph), np.flatnonzero(sums == 0)


def shares(graph: csr_array, *, axis: int) -> tuple[Floats, Floats]:
    """The sum along an axis of each vertex, and 1 over it, 0 where it is 0.

    Raises ValueError where float64 does not hold them.
    """
    with np.errstate(over="ignore"):
        sums = np.asarray(graph.sum(axis=axis)).ravel()
        inverse = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums != 0)
    wrong = ~(np.isfinite(sums) & np.isfinite(inverse))
    if wrong.any():
        vertex = int(np.argmax(wrong))
        raise ValueError(
            f"the weights of vertex {vertex + 1} must add up to a number that float64 holds, and 1 "
            f"over it, not to {sums[vertex]:g}"
        )
    return sums, inverse


def pagerank(
    rules: Rules, graph: csr_array, *, alpha: float = 0.85, tolerance: float = 1e-6
) -> Problem:
    """Ranks, whose sum is 1, from even ones on, until they change by less than ``tolerance`` in the
    1-norm. What dangling vertices have is spread evenly.

    Raises ValueError for a negative weight.
    """
    size, fmt = graph.shape[0], rules.fmt
    matrix, dangling = transitions(graph)
    mask = np.zeros(size)
    mask[dangling] = 1.0
    even = vector_of(np.full(size, 1 / size), fmt)
    return Problem(
        program=PAGERANK,
        semiring=SEMIRINGS["mma"],
        matrix=columns_of(matrix, fmt),
        x=even,
        scalars={
            "alpha": alpha,
            "share": alpha / size,
            "teleport": (1 - alpha) / size,
            "lost_2": len(dangling) / size,
        },
        vectors={"dangling": vector_of(mask, fmt), "x": even, "z": even},
        stop=Stop(reductions=("moved_1", "moved_2"), limit=tolerance),
    )


def reach(rules: Rules, graph: csr_array, sources: Sequence[int]) -> Problem:
    """Vertices that are reached from some, and after how many steps: see :func:`levels`."""
    size, fmt = graph.shape[0], rules.fmt
    start = np.zeros(size)
    start[list(sources)] = 1
    x = vector_of(start, fmt)
    pattern = csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), graph.shape)
    return Problem(
        program=REACH,
        semiring=SEMIRINGS["orand"],
        matrix=columns_of(pattern, fmt),
        x=x,
        scalars={},
        vectors={"level": vector_of(1 - start, fmt), "x": x, "z": x},
        stop=Stop(reductions=("grown_1", "grown_2"), limit=1),
    )


def levels(rules: Rules, solution: Solution) -> Ints:
    """Steps from the nearest source to each vertex; -1 where none leads."""
    reached = decode(solution.result[:, 0], rules.fmt) != 0
    steps = decode(solution.vectors["level"][:, 0], rules.fmt).astype(np.int64)
    return np.where(reached, steps, -1)


def shortest_paths(rules: Rules, graph: csr_array, source: int) -> Problem:
    """Lengths of shortest paths from a vertex (Bellman-Ford); infinite, or the largest integer,
    where none leads.

    Raises ValueError for a negative weight.
    """
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(f"`graph` must have no negative weights, not {graph.data.min():g}")
    fmt = rules.fmt
    far = fmt.constant("+inf")
    assert far is not None
    x = np.full((graph.shape[0], 1), far, np.uint64)
    x[source] = 0
    return Problem(
        program=PATHS,
        semiring=SEMIRINGS["minplus"],
        matrix=columns_of(graph, fmt),
        x=x,
        scalars={},
        vectors={"x": x, "z": x},
        stop=Stop(reductions=("shorter_1", "shorter_2"), limit=1),
    )


def undirected(graph: csr_array) -> csr_array:
    """Returns each edge in both directions, once, with weight 1; no loops."""
    both = csr_array(graph + graph.T)
    both.setdiag(0)
    pattern = csr_array((np.ones(both.nnz), both.indices, both.indptr), both.shape)
    pattern.data[both.data == 0] = 0
    pattern.eliminate_zeros()
    return pattern


def coreness(rules: Rules, graph: csr_array) -> Problem:
    """Core numbers of a graph without directions or loops: see :func:`core_numbers`."""
    size, fmt = graph.shape[0], rules.fmt
    ones = vector_of(np.ones(size), fmt)
    return Problem(
        program=CORENESS,
        semiring=SEMIRINGS["mma"],
        matrix=columns_of(graph, fmt),
        x=ones,
        scalars={"k_2": 0, "removed_2": 0},
        vectors={"core": vector_of(np.zeros(size), fmt), "x": ones, "z": ones},
        stop=Stop(reductions=("left_1", "left_2"), limit=1),
    )


def core_numbers(rules: Rules, solution: Solution) -> Ints:
    """Returns the core number of each vertex."""
    return decode(solution.vectors["core"][:, 0], rules.fmt).astype(np.int64)
