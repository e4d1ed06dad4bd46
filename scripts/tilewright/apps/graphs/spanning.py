"""From minimax paths to a minimum spanning forest.

An edge is on some minimum spanning forest if and only if its weight is the minimax value of its
ends: no path around it has lighter edges only. Rounding to the unit's format keeps the order of
weights, so that no such edge is lost; among the edges that are left, equal weights are told apart
by the weights in the file first and the vertices' numbers then, and an edge that would close a
cycle is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..common.extras import need
from ..common.files import write_whole
from .closure import Notation
from .graph import Graph

__all__ = ["Forest", "spanning_forest", "write_forest"]


@dataclass(frozen=True, kw_only=True)
class Forest:
    """A minimum spanning forest.

    Parameters
    ----------
    rows, cols, weights: its edges, ``rows < cols``
    candidates: edges that the minimax values left
    reference_edges, reference_weight: the number and the weight of SciPy's
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    weights: NDArray[np.float64]
    candidates: int
    reference_edges: int
    reference_weight: float

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def agrees(self) -> bool:
        """Whether SciPy's forest has as many edges of, in all, the same weight."""
        scale = float(np.abs(self.weights).sum())
        return len(self.weights) == self.reference_edges and bool(
            abs(self.weight - self.reference_weight) <= 1e-12 * scale
        )


def spanning_forest(notation: Notation, graph: Graph, minimax: NDArray[np.float64]) -> Forest:
    """The forest of an undirected graph whose minimax values the unit has computed."""
    once = graph.rows < graph.cols
    rows, cols, weights = graph.rows[once], graph.cols[once], graph.weights[once]
    kept = np.flatnonzero(notation.rounded(weights) == minimax[rows, cols])
    parent = np.arange(graph.vertices)

    def root(vertex: int) -> int:
        while parent[vertex] != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = int(parent[vertex])
        return vertex

    chosen = []
    for edge in kept[np.argsort(weights[kept], kind="stable")]:
        one, other = root(int(rows[edge])), root(int(cols[edge]))
        if one != other:
            parent[one] = other
            chosen.append(int(edge))
    edges = np.sort(np.array(chosen, np.int64))
    count, weight = _reference(graph)
    return Forest(
        rows=rows[edges],
        cols=cols[edges],
        weights=weights[edges],
        candidates=len(kept),
        reference_edges=count,
        reference_weight=weight,
    )


def _reference(graph: Graph) -> tuple[int, float]:
    """Edges and weight of SciPy's forest, found on ranks: it takes a weight of 0 for no edge."""
    csgraph = need("scipy.sparse.csgraph", "SciPy")
    sizes, ranks = np.unique(graph.weights, return_inverse=True)
    inside = graph.rows != graph.cols
    forest = csgraph.minimum_spanning_tree(graph.sparse(np.where(inside, ranks + 1.0, 0.0)).tocsr())
    chosen = forest.data[forest.data > 0].astype(np.int64) - 1
    return len(chosen), float(sizes[chosen].sum())


def write_forest(path: Path, graph: Graph, forest: Forest) -> None:
    """The forest as a symmetric Matrix Market file of its edges."""
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    shape = graph.vertices, graph.vertices
    lower = coo_array((forest.weights, (forest.cols, forest.rows)), shape=shape)
    upper = coo_array((forest.weights, (forest.rows, forest.cols)), shape=shape)
    values = np.concatenate([lower.data, upper.data])
    ends = np.concatenate([lower.row, upper.row]), np.concatenate([lower.col, upper.col])
    whole = coo_array((values, ends), shape=shape)
    write_whole(path, partial(_write, mmwrite, whole))


def _write(mmwrite: object, matrix: object, file: object) -> None:
    assert callable(mmwrite)
    mmwrite(file, matrix, precision=17, symmetry="symmetric")
