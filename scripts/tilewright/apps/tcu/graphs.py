"""Closure and distances of graphs on a tensor unit, against SciPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu.dense.rounding import gamma
from ...sim.tcu.graphs.closure import closure, zeros_and_ones
from ...sim.tcu.graphs.distances import distances
from ...sim.tcu.tensor_unit import multiple
from ...sim.tcu.words import FP64, Array
from ..common.agreement import Agreement, exactly, within
from ..common.graph import Graph, read_graph
from ..common.graph_references import shortest
from ..common.limits import check_operations, check_size, counted
from ..common.matrix_files import read_matrix, write_array
from .algorithm_report import tcu_report
from .options import TcuChoice, check_squares
from .unit import computing, open_unit, padded_to, smaller_than_a_block, words_named, work_of

__all__ = ["close_graph", "close_lengths", "measure_graph"]


def close_lengths(choice: TcuChoice, words: str, file: Path, output: Path | None) -> None:
    """Find the shortest paths in the graph of a file, write their lengths if that is asked for,
    and report."""
    graph = read_graph(file, np.minimum, lambda what, n: check_size(what, n, n))
    negative = np.flatnonzero(graph.weights < 0)
    if negative.size:
        edge = graph.edge(int(negative[0]))
        weight = graph.weights[negative[0]]
        raise UserError(f"{file}: the weight of the edge {edge} must be 0 or more, not {weight:g}")
    n = graph.vertices
    calls = work_of("closure", choice, n=n).calls
    check_operations(f"the closure of {file}", calls, "choose a larger --m")
    unit = open_unit(choice, words_named(words))
    with user_errors(ValueError, about=str(file)):
        found = closure(unit, unit.words.array(graph.dense(np.inf)))
    finite = found[np.isfinite(found)]
    longest = float(finite.max())
    wide, edges = multiple(n, unit.s), counted(graph.edges, "edge")
    rows = [
        ("graph", f"{counted(n, 'vertex', 'vertices')}{padded_to((n,), (wide,))}, {edges}"),
        *smaller_than_a_block(unit.s, n),
        ("reached", f"{finite.size:,} of {n * n:,} pairs, at most {longest:g} away"),
    ]
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {
        "vertices": n, "edges": graph.edges, "reached": finite.size, "longest": longest,
    }  # fmt: skip
    agreements = _agreements(found, graph, wide)
    tcu_report("closure", file.name, rows, choice, unit, agreements, details).finish()


def _agreements(found: Array, graph: Graph, wide: int) -> list[Agreement]:
    """Compares with SciPy: equal, if sums of weights are integers that floats hold."""
    reference = _over_an_edge(graph)
    whole = np.array_equal(graph.weights, np.rint(graph.weights))
    if whole and graph.weights.max() * wide < 1 << 53:
        return [exactly("SciPy", found, reference)]
    # A step on a block rounds at most 2 s + 1 times on the way to a path, SciPy once an edge.
    bound = reference * (gamma(3 * wide, FP64) + gamma(wide, FP64))
    reached = exactly("SciPy, what is reached", np.isfinite(found), np.isfinite(reference))
    return [reached, within("SciPy", found, reference, bound)]


def _over_an_edge(graph: Graph) -> Array:
    """Lengths over one edge or more: that to a neighbour, and from it, by any edges or none."""
    paths = shortest(graph).values
    found = np.full(paths.shape, np.inf)
    for start, end, weight in zip(graph.rows, graph.cols, graph.weights, strict=True):
        np.minimum(found[start], weight + paths[end], out=found[start])
    return found


def close_graph(choice: TcuChoice, words: str, file: Path, output: Path | None) -> None:
    """Close the graph of a file, write what is reached if that is asked for, and report."""
    given = _adjacency(file)
    if np.isnan(given).any():
        raise UserError(f"{file}: must hold numbers, not nan")
    if np.isinf(given).any():
        raise UserError(
            f"{file}: must hold finite numbers; inf means no edge with --words minplus alone"
        )
    a = (given != 0).astype(int)
    n = len(a)
    calls = work_of("closure", choice, n=n).calls
    check_operations(f"the closure of {file}", calls, "choose a larger --m")
    unit = open_unit(choice, words_named(words))
    with computing(unit, str(file)):
        found = closure(unit, unit.words.array(a)).astype(np.int64)
    padding = padded_to((n,), (multiple(n, unit.s),))
    pairs = int(found.sum())
    rows = [
        ("graph", f"{counted(n, 'vertex', 'vertices')}{padding}, {counted(int(a.sum()), 'edge')}"),
        *smaller_than_a_block(unit.s, n),
        ("reached", f"{pairs:,} of {n * n:,} pairs"),
    ]
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {"vertices": n, "edges": int(a.sum()), "reached": pairs}
    # One edge to a neighbour, and from there any number of edges, none included.
    anywhere = np.isfinite(_scipy(a, directed=True)).astype(float)
    reference = (a.astype(float) @ anywhere > 0).astype(np.int64)
    agreement = exactly("SciPy", found, reference)
    tcu_report("closure", file.name, rows, choice, unit, [agreement], details).finish()


def measure_graph(choice: TcuChoice, words: str, file: Path, output: Path | None) -> None:
    """Find all distances in the graph of a file, write them if that is asked for, and report."""
    a = _adjacency(file)
    _need_undirected(file, a)
    n = len(a)
    reference = _scipy(a, directed=False)
    finite = reference[np.isfinite(reference)]
    diameter = int(finite.max())
    calls = work_of("distances", choice, n=n, diameter=diameter).calls
    check_operations(f"the distances in {file}", calls, "choose a larger --m")
    unit = open_unit(choice, words_named(words))
    with computing(unit, str(file)):
        found = distances(unit, unit.words.array(a.astype(int)))
    parts = len({tuple(np.flatnonzero(row)) for row in np.isfinite(reference)})
    edges = int(a.sum()) // 2
    rows = [
        ("graph", f"{counted(n, 'vertex', 'vertices')}, {counted(edges, 'edge')}, "
                  f"{counted(parts, 'component')}"),
        *smaller_than_a_block(unit.s, n),
        ("largest", f"{diameter:,}, {finite.size:,} of {n * n:,} pairs are finite"),
    ]  # fmt: skip
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {"vertices": n, "edges": edges, "components": parts, "diameter": diameter}
    agreement = exactly("SciPy", found, reference)
    tcu_report("distances", file.name, rows, choice, unit, [agreement], details).finish()


def _adjacency(file: Path) -> Array:
    matrix = read_matrix(file)
    check_squares([(file, matrix.shape)])
    return matrix


def _need_undirected(file: Path, a: Array) -> None:
    """Raise UserError for other graphs, naming an element."""
    if not zeros_and_ones(a):
        i, j = np.argwhere((a != 0) & (a != 1))[0]
        raise UserError(
            f"{file}: must be a graph without weights, 0 and 1, not {a[i, j]:g} in row {i}, "
            f"column {j} (from 0); run apsp takes weights"
        )
    if not np.array_equal(a, a.T):
        i, j = np.argwhere((a != 0) & (a.T == 0))[0]
        raise UserError(
            f"{file}: must be undirected, not with an edge from {i} to {j} and none back (from 0)"
        )
    if a.diagonal().any():
        loop = int(np.flatnonzero(a.diagonal())[0])
        raise UserError(
            f"{file}: must have no edge from a vertex to itself, as {loop} has (from 0)"
        )


def _scipy(a: Array, directed: bool) -> Array:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    paths = shortest_path(csr_matrix(a.real), "D", directed=directed, unweighted=True)
    return np.asarray(paths)
