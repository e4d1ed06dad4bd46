"""Graphs from Matrix Market and .npy files: lists of weighted edges, checked.

Row i, column j is the edge from vertex i to vertex j. Vertices are numbered from 1 in messages and
reports, as in Matrix Market files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from .first_lines import square
from .limits import counted
from .matrix_files import numeric, read_matrix_file

__all__ = ["Graph", "from_edges", "read_graph"]

Floats = NDArray[np.float64]
Combine = np.ufunc
"""Rule for several edges from one vertex to another: np.minimum or np.maximum."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Edges ``rows[e] -> cols[e]`` of weight ``weights[e]``, each pair once, in order of the pairs.

    Parameters
    ----------
    name: the file, for messages
    vertices: how many; edges count them from 0
    """

    name: str
    vertices: int
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    weights: Floats

    @property
    def edges(self) -> int:
        return len(self.weights)

    @property
    def is_undirected(self) -> bool:
        """Tells whether every edge has a counterpart of the same weight."""
        back = np.lexsort((self.rows, self.cols))
        return bool(
            np.array_equal(self.rows, self.cols[back])
            and np.array_equal(self.cols, self.rows[back])
            and np.array_equal(self.weights, self.weights[back])
        )

    def undirected(self, combine: Combine) -> Graph:
        """Returns the graph with every edge in both directions."""
        ends = np.concatenate([self.rows, self.cols]), np.concatenate([self.cols, self.rows])
        return from_edges(
            self.name, self.vertices, *ends, np.concatenate([self.weights, self.weights]), combine
        )

    def upper_triangle(self) -> Graph:
        """The edges from a lower to a higher vertex, which close no cycle."""
        kept = self.rows < self.cols
        if not kept.any():
            raise UserError(f"{self.name}: has no edge from a lower to a higher vertex")
        return replace(self, rows=self.rows[kept], cols=self.cols[kept], weights=self.weights[kept])

    def with_weights(self, weights: Floats) -> Graph:
        return replace(self, weights=weights)

    def sparse(self, weights: Floats | None = None) -> Any:
        """The edges as a SciPy CSR array; edges of weight 0 stay."""
        from scipy.sparse import csr_array

        values = self.weights if weights is None else weights
        shape = self.vertices, self.vertices
        return csr_array((values, (self.rows, self.cols)), shape=shape)

    def dense(self, absent: float) -> Floats:
        """The weights as a matrix, ``absent`` where there is no edge."""
        matrix = np.full((self.vertices, self.vertices), absent)
        matrix[self.rows, self.cols] = self.weights
        return matrix

    def edge(self, index: int) -> str:
        """An edge's ends, for messages."""
        return f"{self.rows[index] + 1} -> {self.cols[index] + 1}"


def read_graph(
    path: Path, combine: Combine, check_vertices: Callable[[object, int], None]
) -> Graph:
    """A graph from a square matrix.

    In a Matrix Market file that lists entries every entry is an edge, one of weight 0 too, and
    a pattern's weights are 1. In a dense matrix zeros and infinities are no edges. Of several edges
    between two vertices ``combine`` keeps one.

    Raises UserError if the file cannot be read, does not hold a square matrix of real numbers, a
    weight is not a number, or there is no edge; ``check_vertices`` refuses what is too large.
    """
    check_shape = square(check_vertices)
    matrix = read_matrix_file(path, check_shape)
    if matrix.dtype.kind == "c":
        raise UserError(f"{path}: holds complex numbers; weights must be real")
    if isinstance(matrix, np.ndarray):
        rows, cols, weights = _dense_edges(path, matrix, check_shape)
    else:
        rows, cols, weights = matrix.row, matrix.col, numeric(matrix.data, path, empty=True)
    _check_weights(path, rows, cols, weights)
    if not len(weights):
        raise UserError(f"{path}: the graph is empty: there must be at least one edge")
    return from_edges(str(path), matrix.shape[0], rows, cols, weights, combine)


def _dense_edges(
    path: Path, matrix: NDArray[Any], check_shape: Callable[..., None]
) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    if matrix.ndim != 2:
        dimensions = counted(matrix.ndim, "dimension")
        raise UserError(f"{path}: must hold a matrix (2 dimensions), not {dimensions}")
    check_shape(path, *matrix.shape)
    values = numeric(matrix, path)
    rows, cols = np.nonzero((values != 0) & ~np.isinf(values))
    return rows, cols, values[rows, cols]


def _check_weights(path: Path, rows: NDArray[Any], cols: NDArray[Any], weights: Floats) -> None:
    for wrong, kind in ((np.isnan(weights), "NaN"), (np.isinf(weights), "infinite")):
        if wrong.any():
            place = int(np.argmax(wrong))
            raise UserError(
                f"{path}: the weight of the edge {rows[place] + 1} -> {cols[place] + 1} is {kind}; "
                f"weights must be finite numbers"
            )


def from_edges(
    name: str,
    vertices: int,
    rows: NDArray[Any],
    cols: NDArray[Any],
    weights: Floats,
    combine: Combine,
) -> Graph:
    """A graph; of several edges between two vertices ``combine`` keeps one."""
    keys, place = np.unique(rows.astype(np.int64) * vertices + cols, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(keys)))
    return Graph(
        name=name,
        vertices=vertices,
        rows=keys // vertices,
        cols=keys % vertices,
        weights=combine.reduceat(weights[order], starts),
    )
