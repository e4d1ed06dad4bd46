"""Generated graphs for the SIMD2 paper's applications, whose own inputs are not published.

Weights are such that no format rounds: integers whose sums stay below 2,048, powers of two. So
iterations follow from the graph alone.
"""

from __future__ import annotations

import numpy as np

from ...apps.common.graph import Graph, from_edges
from ...apps.graphs.problems import PROBLEMS, Problem

__all__ = ["DEGREE", "FEATURES", "GEMM", "LAYER", "PAPERS_SIZES", "SEED", "generated"]

SEED = 1
"""Seed of the graphs."""
FEATURES = 128
"""Features of the points of knn: the paper gives only the number of points."""
GEMM = 4096
"""Rows, columns and depth of products that belong to no application."""
DEGREE = 8
"""Edges drawn for each vertex."""
LAYER = 256
"""Vertices of a layer of a graph without cycles, whose edges lead to later layers."""

_LARGE, _MIDDLE = (4096, 8192, 16384), (1024, 4096, 8192)
PAPERS_SIZES: dict[str, tuple[int, int, int]] = {
    "apsp": _LARGE, "aplp": _LARGE, "mcp": _LARGE, "maxrp": _LARGE, "minrp": _LARGE,
    "mst": (1024, 2048, 4096), "gtc": _MIDDLE, "knn": _LARGE,
}  # fmt: skip
"""Small, medium, large: the paper's table of inputs."""


def generated(name: str, vertices: int, seed: int) -> Graph:
    """A graph for an application, its edges between random vertices."""
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    count = DEGREE * vertices // (2 if problem.undirected else 1)
    rows, cols = rng.integers(0, vertices, (2, count))
    weights = _weights(problem, rng, count)
    kept = rows != cols
    if problem.acyclic:
        rows, cols = np.minimum(rows, cols), np.maximum(rows, cols)
        kept = rows // LAYER != cols // LAYER
    rows, cols, weights = rows[kept], cols[kept], weights[kept]
    title = f"generated graph for {name}"
    graph = from_edges(title, vertices, rows, cols, weights, problem.combine)
    return graph.undirected(problem.combine) if problem.undirected else graph


def _weights(problem: Problem, rng: np.random.Generator, count: int) -> np.ndarray:
    if problem.weights == "ignored":
        return np.ones(count)
    if problem.joining == "product":
        return 0.5 ** rng.integers(0, 2, count)
    most = 100 if problem.joining == "selection" else 32
    return rng.integers(1, most + 1, count).astype(np.float64)
