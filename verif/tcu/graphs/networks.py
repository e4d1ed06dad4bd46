"""Graphs of NetworkX as matrices, and distances in them."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
from tilewright.sim.tcu.words import Array

__all__ = ["expected", "matrix"]


def matrix(graph: Any) -> Array:
    """The adjacency matrix, of integers."""
    return np.asarray(networkx.to_numpy_array(graph, nodelist=range(len(graph)), dtype=int))


def expected(graph: Any) -> Array:
    """Edges of a shortest path between any two vertices, inf if there is none."""
    found = np.full((len(graph),) * 2, np.inf)
    for start, reached in networkx.all_pairs_shortest_path_length(graph):
        for end, length in reached.items():
            found[start, end] = length
    return found
