"""Computes references with SciPy's csgraph and NetworkX, in float64 or exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from .files import need
from .graph import Graph

__all__ = ["Reference", "connected", "has_negative_cycle", "hop_diameter", "least_reliable",
           "longest", "longest_chain", "most_reliable", "narrowest", "reachable", "shortest",
           "strong_components", "widest"]  # fmt: skip

Floats = NDArray[np.float64]
_DEEPEST = 700
"""e to the power of minus this is still a normal float64 number."""


@dataclass(frozen=True)
class Reference:
    """Values for every pair of vertices.

    Parameters
    ----------
    values: float64; infinite (or 0, for capacities, reliabilities, reachability) without a path
    source: the library's function
    slack: how far float64 arithmetic may have taken them from the truth, relatively
    """

    values: Floats
    source: str
    slack: float = 0.0


def _csgraph() -> Any:
    return need("scipy.sparse.csgraph", "SciPy")


def _distances(graph: Graph, weights: Floats) -> Floats:
    """Lengths of shortest paths; UserError if there is a negative cycle."""
    csgraph = _csgraph()
    endless = UserError(
        f"{graph.name}: has a cycle of negative length; shortest paths would have no end"
    )
    if ((graph.rows == graph.cols) & (weights < 0)).any():  # which Floyd-Warshall overlooks
        raise endless
    # Johnson's algorithm, SciPy's choice for negative weights, would lose places by reweighting.
    method = "FW" if (weights < 0).any() else "D"
    try:
        found: Floats = csgraph.shortest_path(graph.sparse(weights), method=method)
    except csgraph.NegativeCycleError:
        raise endless from None
    return found


def _slack(graph: Graph, exponents: Floats | None = None) -> float:
    """Roundings of float64 along a path, and those of its exponential."""
    largest = 0.0 if exponents is None else float(np.max(np.abs(exponents[np.isfinite(exponents)])))
    return float((graph.vertices + 4 * largest + 4) * 2.0**-52)


def has_negative_cycle(graph: Graph, weights: Floats) -> bool:
    """Tells whether a cycle of the graph, with these weights, has a negative length."""
    try:
        _distances(graph, weights)
    except UserError:
        return True
    return False


def shortest(graph: Graph) -> Reference:
    return Reference(_distances(graph, graph.weights), "SciPy csgraph.shortest_path", _slack(graph))


def longest(graph: Graph) -> Reference:
    """Computes longest paths without cycles: shortest paths under the opposite weights."""
    values = 0.0 - _distances(graph, -graph.weights)
    return Reference(values, "SciPy csgraph.shortest_path of -w", _slack(graph))


def most_reliable(graph: Graph) -> Reference:
    exponents = _distances(graph, np.abs(np.log(graph.weights)))
    _check_exponents(graph, exponents)
    return Reference(
        np.exp(-exponents), "SciPy csgraph.shortest_path of -log w", _slack(graph, exponents)
    )


def least_reliable(graph: Graph) -> Reference:
    """Computes least reliable paths in a graph without cycles."""
    exponents = _distances(graph, np.log(graph.weights))
    _check_exponents(graph, exponents)
    return Reference(
        np.exp(exponents), "SciPy csgraph.shortest_path of log w", _slack(graph, exponents)
    )


def _check_exponents(graph: Graph, exponents: Floats) -> None:
    """Refuse products that float64 does not hold either."""
    largest = float(np.max(np.abs(exponents[np.isfinite(exponents)])))
    if largest > _DEEPEST:
        raise UserError(
            f"{graph.name}: the reliability of a path is e^-{largest:.0f}, which no format holds; "
            f"at least e^-{_DEEPEST} is needed"
        )


def reachable(graph: Graph) -> Reference:
    hops = _csgraph().shortest_path(graph.sparse(np.ones(graph.edges)), method="D", unweighted=True)
    return Reference(np.isfinite(hops).astype(np.float64), "SciPy csgraph.shortest_path, hops")


def hop_diameter(graph: Graph) -> int:
    """Edges of the longest of the paths that have the fewest edges."""
    hops = _csgraph().shortest_path(graph.sparse(np.ones(graph.edges)), method="D", unweighted=True)
    return int(hops[np.isfinite(hops)].max())


def longest_chain(graph: Graph) -> int:
    """Edges of the path that has the most, in a graph without cycles."""
    lengths = _distances(graph, -np.ones(graph.edges))
    return int(-lengths[np.isfinite(lengths)].min())


def narrowest(graph: Graph) -> Reference:
    """Minimax paths: the least that the largest weight of a path can be."""
    return _bottlenecks(graph, graph.weights, empty=-np.inf, absent=np.inf)


def widest(graph: Graph) -> Reference:
    """Maximum capacity paths: the most that the smallest weight of a path can be."""
    found = _bottlenecks(graph, -graph.weights, empty=-np.inf, absent=0.0)
    return Reference(np.where(found.values == 0, 0.0, -found.values), found.source)


def _bottlenecks(graph: Graph, weights: Floats, *, empty: float, absent: float) -> Reference:
    """Minimax paths as shortest paths: an edge of the r-th smallest weight is n^r long, in exact
    integers, so that no number of lighter edges outweighs it."""
    networkx = need("networkx", "NetworkX")
    sizes, ranks = np.unique(weights, return_inverse=True)
    bits = graph.vertices.bit_length()
    edges = zip(graph.rows.tolist(), graph.cols.tolist(), ranks.tolist(), strict=True)
    network = networkx.DiGraph()
    network.add_nodes_from(range(graph.vertices))
    network.add_weighted_edges_from((i, j, 1 << bits * rank) for i, j, rank in edges if i != j)
    values = np.full((graph.vertices, graph.vertices), absent)
    for start, lengths in networkx.all_pairs_dijkstra_path_length(network):
        ends = list(lengths)
        found = [(lengths[end].bit_length() - 1) // bits for end in ends]
        values[start, ends] = sizes[found]
    np.fill_diagonal(values, empty)
    return Reference(values, "NetworkX all_pairs_dijkstra_path_length, exact integers")


def connected(pattern: Any) -> NDArray[np.int64]:
    """A number for each vertex: the same where edges join them, whatever their direction."""
    _, labels = _csgraph().connected_components(pattern, directed=True, connection="weak")
    found: NDArray[np.int64] = labels.astype(np.int64)
    return found


def strong_components(graph: Graph) -> NDArray[np.int64]:
    """A number for each vertex, the same for vertices that lie on a common cycle."""
    _, labels = _csgraph().connected_components(
        graph.sparse(np.ones(graph.edges)), directed=True, connection="strong"
    )
    return np.asarray(labels, np.int64)
