"""The critical path of a graph without cycles, read off the lengths of its longest paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..common.extras import need
from .graph import Graph

__all__ = ["CriticalPath", "critical_path"]


@dataclass(frozen=True, kw_only=True)
class CriticalPath:
    """A longest path.

    Parameters
    ----------
    vertices: counted from 0
    length: the sum of the file's weights along it
    reference: the length of the path that NetworkX finds
    """

    vertices: list[int]
    length: float
    reference: float


def critical_path(graph: Graph, longest: NDArray[np.float64]) -> CriticalPath:
    """Follow the longest lengths from the pair of vertices that has the largest one."""
    networkx = need("networkx", "NetworkX")
    edges = zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist(), strict=True)
    network = networkx.DiGraph()
    network.add_weighted_edges_from(edges)
    weights = graph.dense(-np.inf)
    start, end = np.unravel_index(int(np.argmax(longest)), longest.shape)
    path, length = [int(start)], 0.0
    while path[-1] != end:
        here = path[-1]
        following = int(np.argmax(weights[here] + longest[:, end]))
        length += float(weights[here, following])
        path.append(following)
    reference = float(networkx.dag_longest_path_length(network))
    return CriticalPath(vertices=path, length=length, reference=reference)
