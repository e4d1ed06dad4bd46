"""Graphs, matrices and vectors from files, as the accelerator of iterations takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.matrix_files import numeric, read_array, read_matrix_file
from ..common.words import counted
from ..graphs.graph import Graph, read_graph
from .options import SidaChoice

__all__ = [
    "Source",
    "check_not_negative",
    "check_source",
    "graph_of",
    "matrix_of",
    "read_vector",
    "source_of",
]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a computation's matrix comes from.

    Parameters
    ----------
    path: the file
    kind, text: what it holds, for the report
    details: the same for its JSON
    """

    path: Path
    kind: str
    text: str
    details: Mapping[str, Any]


def source_of(graph: Graph) -> Source:
    """A graph from a file."""
    return Source(
        path=Path(graph.name),
        kind="graph",
        text=f"{graph.vertices:,} vertices, {graph.edges:,} edges",
        details={"vertices": graph.vertices, "edges": graph.edges},
    )


def graph_of(choice: SidaChoice, path: Path, combine: np.ufunc) -> Graph:
    return read_graph(path, combine, choice.check_vertices)


def check_not_negative(graph: Graph) -> None:
    negative = graph.weights < 0
    if negative.any():
        first = int(np.argmax(negative))
        raise UserError(
            f"{graph.name}: the weight of the edge {graph.edge(first)} is "
            f"{graph.weights[first]:g}; weights must not be negative"
        )


def check_source(graph: Graph, source: int) -> None:
    if source > graph.vertices:
        raise UserError(
            f"--source must be in 1..{graph.vertices}, the vertices of {graph.name}, not {source}"
        )


def matrix_of(choice: SidaChoice, path: Path, *, square: bool = True) -> Any:
    """A matrix, SciPy CSR, float64. Raises UserError if the file holds none, it is not square but
    should be, or it does not fit."""
    check_shape = choice.check_matrix if square else choice.check_points
    found = read_matrix_file(path, check_shape)
    if found.dtype.kind == "c":
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if isinstance(found, np.ndarray):
        if found.ndim != 2:
            dimensions = counted(found.ndim, "dimension")
            raise UserError(f"{path}: must hold a matrix (2 dimensions), not {dimensions}")
        check_shape(path, *found.shape)
        found = numeric(found, path)
    from scipy.sparse import csr_array

    matrix = csr_array(found, dtype=np.float64)
    matrix.sum_duplicates()
    if not matrix.nnz:
        raise UserError(f"{path}: the matrix has no entries")
    wrong = ~np.isfinite(matrix.data)
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, place, side="right"))
        raise UserError(
            f"{path}: the value of row {row}, column {matrix.indices[place] + 1} is "
            f"{matrix.data[place]:g}; values must be finite numbers"
        )
    return matrix


def read_vector(path: Path, size: int) -> NDArray[np.float64]:
    """(size,) real numbers, from a file of a row, a column or a vector of them; UserError if it
    holds anything else."""
    found = read_array(path)
    expected = f"{path}: must be a vector of {size} real values"
    if np.iscomplexobj(found):
        raise UserError(f"{expected}, not of complex ones")
    if found.size != size or max(found.shape) != size:
        raise UserError(f"{expected}, not {' x '.join(map(str, found.shape))}")
    return np.asarray(found, np.float64).reshape(-1)
