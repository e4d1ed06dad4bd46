"""Small graphs for the benches of the graph applications, and what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tilewright.verif.kit.commands import Run

Edges = list[tuple[int, int, float]]

RING: Edges = [(1, 2, 2), (2, 3, 3), (3, 1, 1), (3, 4, 4), (1, 4, 9), (4, 4, 5), (5, 4, 0)]
"""Directed, with a cycle, a loop, an edge of weight 0, and vertex 5, which nothing leads to."""

DAG: Edges = [(1, 2, 3), (2, 4, 2), (1, 3, 1), (3, 4, 6), (4, 5, 1), (2, 5, 4), (6, 5, 2)]

UNDIRECTED: Edges = [(2, 1, 4), (3, 1, 2), (3, 2, 2), (4, 3, 7), (4, 2, 5), (6, 5, -1)]
"""Lower triangle of two components."""

RELIABLE: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in RING]
RELIABLE_DAG: Edges = [(i, j, 0.5 ** (w % 3)) for i, j, w in DAG]
"""A DAG whose weights are powers of two."""

EXAMPLES: dict[str, tuple[Edges, int, str]] = {
    "apsp": (RING, 5, "general"),
    "aplp": (DAG, 6, "general"),
    "mcp": (RING, 5, "general"),
    "maxrp": (RELIABLE, 5, "general"),
    "minrp": (RELIABLE_DAG, 6, "general"),
    "mst": (UNDIRECTED, 6, "symmetric"),
    "gtc": (RING, 5, "general"),
}
"""A graph, its vertices, and its symmetry, by application."""

BEST: dict[str, tuple[Callable[..., float], Callable[[list[float]], float], float]] = {
    "apsp": (min, sum, np.inf),
    "aplp": (max, sum, -np.inf),
    "mcp": (max, lambda weights: min(weights, default=np.inf), 0.0),
    "maxrp": (max, lambda weights: float(np.prod(weights)), 0.0),
    "minrp": (min, lambda weights: float(np.prod(weights)), np.inf),
    "mst": (min, lambda weights: max(weights, default=-np.inf), np.inf),
    "gtc": (max, lambda weights: 1.0, 0.0),
}
"""Choice of the best path, value of a path, and value of no path, by application."""


def write_graph(
    path: Path, edges: Edges, vertices: int, symmetry: str = "general", kind: str = "real"
) -> Path:
    """A Matrix Market file of edges."""
    lines = [f"%%MatrixMarket matrix coordinate {kind} {symmetry}"]
    lines.append(f"{vertices} {vertices} {len(edges)}")
    lines += [f"{i} {j} {w}" for i, j, w in edges]
    path.write_text("\n".join(lines) + "\n")
    return path


def best_paths(app: str, edges: Edges, vertices: int) -> NDArray[np.float64]:
    """The values of all pairs by looking at every path that visits no vertex twice."""
    best, worth, absent = BEST[app]
    following: dict[int, list[tuple[int, float]]] = {v: [] for v in range(vertices)}
    for i, j, weight in edges:
        following[i - 1].append((j - 1, weight))
    values = np.full((vertices, vertices), absent)
    for start in range(vertices):
        for end, weights in _paths(start, {start}, [], following):
            values[start, end] = best(values[start, end], worth(weights))
    return values


def _paths(
    here: int, seen: set[int], weights: list[float], following: dict[int, list[tuple[int, float]]]
) -> Iterator[tuple[int, list[float]]]:
    yield here, weights
    for there, weight in following[here]:
        if there not in seen:
            yield from _paths(there, seen | {there}, [*weights, weight], following)


def both_ways(edges: Edges) -> Edges:
    """Every edge in both directions."""
    return [*edges, *((j, i, w) for i, j, w in edges)]


def random_edges(generator: np.random.Generator, vertices: int, count: int, draw: Any) -> Edges:
    """Edges between random vertices, parallel ones and loops among them."""
    ends = generator.integers(1, vertices + 1, (count, 2)).tolist()
    return [(i, j, float(w)) for (i, j), w in zip(ends, draw(count), strict=True)]


def closure(run: Run, app: str, graph: Path, *options: object) -> NDArray[np.float64]:
    """The values that a run writes; it must pass."""
    out = run.directory / "d.npy"
    assert run(app, graph, "-o", out, "--json", run.directory / "report.json", *options) == 0
    values: NDArray[np.float64] = np.load(out)
    return values


def example(run: Run, app: str) -> tuple[Path, NDArray[np.float64]]:
    """A graph and the values of its paths, by enumeration; all exact in fp16."""
    edges, vertices, symmetry = EXAMPLES[app]
    path = write_graph(run.directory / f"{app}.mtx", edges, vertices, symmetry)
    directed = both_ways(edges) if symmetry == "symmetric" else edges
    return path, best_paths(app, directed, vertices)
