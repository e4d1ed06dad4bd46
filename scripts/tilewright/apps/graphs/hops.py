"""Counts the edges of the best paths of a graph, and thus the iterations of a closure.

After t iterations of the all-pairs Bellman-Ford algorithm every value is the best of all walks of
at most t + 1 edges, after k of Leyzorek's that of all walks of at most 2^k. So if H edges are the
fewest that the best path of every pair can do with, values are final once H edges are covered, not
before, and the convergence check ends one iteration later: nothing about the values has to be known
but H. This holds as long as nothing rounds, and is refused where the format would round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...sim.timing.compiled import allocating
from ..common.files import need
from ..common.graph import Graph
from .closure import Notation, worst_case

__all__ = ["Hops", "fewest_hops", "settling"]


# Shortest paths of the fewest edges, from every vertex, as machine code.
#
# The search runs in rounds, one per edge of a path: a round follows only the vertices that the
# round before has improved. A graph without cycles, with no edge longer than 0, would take many
# rounds. There lengths and edges are minimised together, vertex by vertex in topological order.
#
# Edges lie vertex by vertex: ``starts``, where those of each begin, and one more; ``ends``, where
# they lead; ``lengths``.

NONE = 1 << 62
"""Farther than any path is long."""


@allocating
def in_order(starts: Integers, ends: Integers, lengths: Integers, vertices: int) -> tuple[int, int]:
    """The most edges of a shortest path of the fewest edges, and the longest length."""
    scale = vertices + 1
    keys = np.empty(vertices, np.int64)
    most, largest = 1, 0
    for source in range(vertices):
        keys[source:] = NONE
        keys[source] = 0
        for vertex in range(source, vertices):
            here = keys[vertex]
            if here == NONE:
                continue
            hops = here % scale
            most = max(most, hops)
            largest = max(largest, -((here - hops) // scale))
            for edge in range(starts[vertex], starts[vertex + 1]):
                reached = here + lengths[edge] * scale + 1
                keys[ends[edge]] = min(keys[ends[edge]], reached)
    return most, largest


@allocating
def in_rounds(
    starts: Integers, ends: Integers, lengths: Integers, vertices: int, selects: bool
) -> tuple[int, int]:
    """Rounds until nothing improves, the most over all vertices to start from, and the largest
    magnitude on the way; no rounds if there is no end."""
    best = np.empty(vertices, np.int64)
    followed, following = np.empty(vertices, np.int64), np.empty(vertices, np.int64)
    known = np.empty(vertices, np.int64)
    noted = np.full(vertices, -1, np.int64)
    most, largest, stamp = 1, 0, 0
    for source in range(vertices):
        best[:] = NONE
        best[source] = -1 if selects else 0
        followed[0], known[0], count, rounds = source, best[source], 1, 0
        while count:
            stamp += 1
            improved = 0
            for number in range(count):
                vertex, here = followed[number], known[number]
                for edge in range(starts[vertex], starts[vertex + 1]):
                    length, end = lengths[edge], ends[edge]
                    reached = max(here, length) if selects else here + length
                    if reached < best[end]:
                        best[end] = reached
                        if noted[end] != stamp:
                            noted[end] = stamp
                            following[improved] = end
                            improved += 1
            for number in range(improved):
                known[number] = best[following[number]]
                largest = max(largest, abs(known[number]))
            followed, following = following, followed
            count = improved
            if improved:
                rounds += 1
            if rounds > vertices:
                return 0, 0
        most = max(most, rounds)
    return most, largest


Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Hops:
    """Edges and values that the best paths of a graph need.

    Parameters
    ----------
    most: the largest number, over all pairs, of edges that the best path has at least; at least 1
    largest: magnitude of the largest value on the way, in multiples of what weights are counted in
    """

    most: int
    largest: int


def settling(algorithm: str, hops: int, vertices: int) -> tuple[int, bool]:
    """Iterations with the convergence check, and whether the last of them changes nothing."""
    wanted = 1 + (hops - 1).bit_length() if algorithm == "leyzorek" else hops
    most = worst_case(algorithm, vertices)
    return min(wanted, most), wanted <= most


def fewest_hops(notation: Notation, graph: Graph) -> Hops:
    """The edges that the best paths need, in exact arithmetic.

    Raises UserError if the unit's format would round values on the way, so that the
    iterations depend on it, or if a cycle has a negative length.
    """
    problem = notation.problem
    # An edge that is worth as much as none leads nowhere.
    used = notation.rounded(graph.weights) != problem.absent
    graph = replace(
        graph, rows=graph.rows[used], cols=graph.cols[used], weights=graph.weights[used]
    )
    lengths = _lengths(notation, graph)
    selects = problem.joining == "selection" and problem.weights != "ignored"
    if problem.acyclic and (lengths <= 0).all():
        found = _acyclic(graph, lengths)
    else:
        found = Hops(*in_rounds(*_rows(graph, lengths), graph.vertices, selects))
    if not found.most:
        raise UserError(
            f"{graph.name}: has a cycle of negative length; shortest paths would have no end"
        )
    _check_exact(notation, graph, found)
    return found


def _lengths(notation: Notation, graph: Graph) -> Integers:
    """Integers for the weights, of which the least sum, or the least maximum, is the best value."""
    problem, weights = notation.problem, graph.weights
    sign = 1 if problem.combine is np.minimum else -1
    if problem.weights == "ignored":
        return np.zeros(graph.edges, np.int64)
    if problem.joining == "selection":
        _, ranks = np.unique(sign * notation.rounded(weights), return_inverse=True)
        return ranks.astype(np.int64)
    if problem.joining == "product":
        mantissas, exponents = np.frexp(weights)
        _check_weights(notation, graph, mantissas == 0.5, "no power of two")
        return (sign * (exponents - 1)).astype(np.int64)
    _check_weights(notation, graph, weights == np.rint(weights), "no integer")
    _check_weights(notation, graph, weights == notation.rounded(weights), "not among its numbers")
    if np.abs(weights).max(initial=0.0) * float(graph.vertices + 1) ** 2 >= NONE:
        _refuse(notation, graph, f"the largest weight is {np.abs(weights).max():.6g}")
    return (sign * weights).astype(np.int64)


def _check_weights(notation: Notation, graph: Graph, good: NDArray[np.bool_], what: str) -> None:
    if not good.all():
        place = int(np.argmin(good))
        weight = f"{graph.weights[place]:.6g}, {what}"
        _refuse(notation, graph, f"the edge {graph.edge(place)} has the weight {weight}")


def _check_exact(notation: Notation, graph: Graph, found: Hops) -> None:
    """Refuse values on the way that the operands' format does not hold."""
    element, joining = notation.numbers.element, notation.problem.joining
    if joining == "selection":
        return
    if joining == "product":
        most = -element.emin if isinstance(element, FloatFormat) else 0
    elif isinstance(element, FloatFormat):
        most = 1 << element.significand_bits
    else:
        most = int(notation.reach)
    if found.largest > most:
        values = "2^-" if joining == "product" else ""
        _refuse(notation, graph, f"values of paths reach {values}{found.largest}")


def _refuse(notation: Notation, graph: Graph, why: str) -> None:
    raise UserError(
        f"{graph.name}: with the convergence check iterations are foreseen only where "
        f"{notation.numbers.element.name} does not round, but {why}; --no-convergence-check takes "
        f"the worst case"
    )


def _rows(graph: Graph, lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """Returns the edges row by row: the start of each vertex's edges, their ends and lengths."""
    starts = np.searchsorted(graph.rows, np.arange(graph.vertices + 1))
    return starts.astype(np.int64), graph.cols.astype(np.int64), lengths


def _acyclic(graph: Graph, lengths: Integers) -> Hops:
    """Finds the hops in topological order; all edges are at most 0 long. So a path is no shorter
    than its parts, and no value on the way is larger than the final ones."""
    networkx = need("networkx", "NetworkX")
    network: Any = networkx.DiGraph()
    network.add_nodes_from(range(graph.vertices))
    network.add_edges_from(zip(graph.rows.tolist(), graph.cols.tolist(), strict=True))
    place = np.empty(graph.vertices, np.int64)
    place[list(networkx.topological_sort(network))] = np.arange(graph.vertices)
    order = np.lexsort((place[graph.cols], place[graph.rows]))
    starts = np.searchsorted(place[graph.rows][order], np.arange(graph.vertices + 1))
    most, largest = in_order(
        starts.astype(np.int64), place[graph.cols][order], lengths[order], graph.vertices
    )
    return Hops(most, largest)
