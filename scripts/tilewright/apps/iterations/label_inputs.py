"""Labels of vertices, and graphs on which they spread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.files import ARRAYS, kind_of
from ..common.matrix_files import read_array
from ..graphs.graph import Graph

__all__ = ["check_neighbours", "read_labels"]


def read_labels(text: str) -> NDArray[np.float64]:
    """Those in a file, or with commas between them. Raises UserError if one is not 0 or 1."""
    path = Path(text)
    if kind_of(path) not in ARRAYS:
        return np.array([float(word) for word in text.split(",")])
    found = read_array(path).reshape(-1)
    wrong = (found != 0) & (found != 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: label {place + 1} must be 0 or 1, not {found[place]:g}")
    return found.real


def check_neighbours(graph: Graph) -> None:
    """Raise UserError unless weights are positive and the same in both directions."""
    wrong = graph.weights <= 0
    if wrong.any():
        first = int(np.argmax(wrong))
        raise UserError(
            f"{graph.name}: the weight of the edge {graph.edge(first)} is "
            f"{graph.weights[first]:g}; weights must be positive"
        )
    if not graph.is_undirected:
        matrix = graph.sparse()
        first = int(np.flatnonzero(((matrix != matrix.T).tocsr())[graph.rows, graph.cols])[0])
        raise UserError(
            f"{graph.name}: the edge {graph.edge(first)} has none of the same weight back; "
            "weights must be symmetric"
        )
