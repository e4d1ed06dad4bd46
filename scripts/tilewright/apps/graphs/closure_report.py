"""Adds a closure's results to the reports of the graph applications."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.files import need, write_whole
from ..common.graph import Graph
from ..common.graph_references import Reference
from ..common.picture import MatrixPlot
from .accuracy import Agreement
from .closure import Closure, Notation
from .options import GraphOptions
from .problems import Problem

__all__ = ["add_path", "add_tree", "closure_report", "plot_of"]


def plot_of(problem: Problem, name: str, values: NDArray[np.float64]) -> MatrixPlot:
    """Returns the plot of a closure of the graph in a file; ``values``: infinite without a path."""
    return MatrixPlot(
        title=f"{problem.title} of {Path(name).name}", rows="from vertex",
        columns="to vertex", values=problem.value, matrix=values,
    )  # fmt: skip


# From minimax paths to a minimum spanning forest.
#
# An edge is on some minimum spanning forest if and only if its weight is the minimax value of its
# ends: no path around it has lighter edges only. Rounding to the unit's format keeps the order of
# weights, so that no such edge is lost; among the edges that are left, equal weights are told
# apart by the weights in the file first and the vertices' numbers then, and an edge that would
# close a cycle is dropped.


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
        """Tells whether SciPy's forest has the same number of edges and the same total weight."""
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


Rows = list[tuple[str, str]]


def closure_report(
    notation: Notation, graph: Graph, how: GraphOptions, closure: Closure, reference: Reference,
    agreement: Agreement,
) -> tuple[Rows, dict[str, Any]]:  # fmt: skip
    """Rows of the printed report and entries of the JSON one."""
    element, result = notation.numbers.element.name, notation.numbers.result.name
    ending = "not checked" if closure.settled is None else "nothing changed in the last"
    if closure.settled is False:
        ending = "the worst case"
    joined = closure.values != notation.problem.absent
    relative_max, relative_mean = _relative(closure, reference)
    rows = [
        ("graph", f"{graph.vertices:,} vertices, {graph.edges:,} edges"),
        ("algorithm", f"{how.algorithm}, {closure.iterations} iterations ({ending})"),
        ("pairs with a path", f"{np.count_nonzero(joined):,} of {joined.size:,}"),
        ("between iterations", f"{closure.rounded:,} {result} values rounded to {element}"),
        ("relative error", f"max {relative_max:.2e}, mean {relative_mean:.2e}"),
        ("reference", reference.source),
        ("agreement", _verdict(agreement, element)),
    ]
    details = {
        "graph": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "algorithm": how.algorithm,
        "convergence_check": how.convergence_check,
        "iterations": closure.iterations,
        "settled": closure.settled,
        "rounded_between_iterations": closure.rounded,
        "relative_error": {"max": relative_max, "mean": relative_mean},
        "reference": reference.source,
        "agreement": asdict(agreement),
    }
    return rows, details


def _relative(closure: Closure, reference: Reference) -> tuple[float, float]:
    expected = reference.values
    usable = np.isfinite(expected) & np.isfinite(closure.values) & (expected != 0)
    if not usable.any():
        return 0.0, 0.0
    shares = np.abs(closure.values[usable] - expected[usable]) / np.abs(expected[usable])
    return float(shares.max()), float(shares.mean())


def _verdict(agreement: Agreement, element: str) -> str:
    if agreement.wrong:
        return f"DIFFERENT: {agreement.wrong:,} values are wrong"
    if agreement.criterion == "exact":
        return f"every value equals the reference's, rounded to {element}"
    return (
        f"{agreement.criterion} error at most {agreement.worst:.2e}, of the {agreement.bound:.2e} "
        f"that rounding explains"
    )


def add_path(
    graph: Graph, closure: Closure, agreement: Agreement, rows: Rows,
    details: dict[str, Any],
) -> bool:  # fmt: skip
    """Add the critical path; tell whether it falls short of NetworkX's by more than rounding."""
    found = critical_path(graph, closure.values)
    shown = [str(v + 1) for v in found.vertices]
    if len(shown) > 12:
        shown = [*shown[:6], "...", *shown[-5:]]
    rows.append(("critical path", " -> ".join(shown)))
    rows.append(("its length", f"{found.length:.9g} (NetworkX dag_longest_path_length: "
                               f"{found.reference:.9g})"))  # fmt: skip
    details["critical_path"] = {
        "vertices": [v + 1 for v in found.vertices],
        "length": found.length,
        "reference": found.reference,
    }
    bound = agreement.bound if agreement.criterion == "absolute" else (
        max(agreement.bound, 1e-12) * abs(found.reference)
    )  # fmt: skip
    return abs(found.length - found.reference) > 2 * len(found.vertices) * bound


def add_tree(
    notation: Notation, graph: Graph, closure: Closure, tree: Path | None,
    rows: Rows, details: dict[str, Any],
) -> bool:  # fmt: skip
    """Add the spanning forest; tell whether it differs from SciPy's in edges or weight."""
    forest = spanning_forest(notation, graph, closure.values)
    rows.append(("forest", f"{len(forest.weights):,} edges, weight {forest.weight:.9g}, from "
                           f"{forest.candidates:,} candidates"))  # fmt: skip
    rows.append(("SciPy minimum_spanning_tree", f"{forest.reference_edges:,} edges, weight "
                                                f"{forest.reference_weight:.9g}"))  # fmt: skip
    details["forest"] = {
        "edges": len(forest.weights),
        "weight": forest.weight,
        "candidates": forest.candidates,
        "reference_edges": forest.reference_edges,
        "reference_weight": forest.reference_weight,
    }
    if tree:
        write_forest(tree, graph, forest)
        rows.append(("tree", str(tree)))
    return not forest.agrees
