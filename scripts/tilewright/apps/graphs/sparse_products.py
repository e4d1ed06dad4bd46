"""Markov clustering by sparse squares.

A random walk stays within a cluster for long. Each iteration squares the matrix of its steps
(expansion), then raises every probability to a power and scales the steps from each vertex to 1
again (inflation), which favours the likely ones; tiny ones are dropped. In the end all steps of
a cluster lead to its attractors.

Rows hold the steps from a vertex (van Dongen's matrices are their transposes), so that squaring is
the row-wise product as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...hw.spec.host.activity import activity
from ...sim.sparse.c2sr import to_csr
from ..common.files import need
from ..common.graph import Graph
from ..common.graph_references import connected
from ..common.matrix_files import write_array
from ..common.rounding import round_to, warn_rounding
from ..common.units.matraptor import SparseChoice
from ..common.units.matraptor_products import SparseProducts, sparse_report

# Triangles of a graph by one sparse product.
#
# L holds the edges from a vertex to a lower one. Entry i, j of L L counts the paths from i down to
# j by a vertex between them; where L has an entry, too, each of them closes a triangle, and every
# triangle is counted once.


def count_triangles(choice: SparseChoice, whole: Graph, graph: Path) -> None:
    """Count them, and report."""
    low, high = np.minimum(whole.rows, whole.cols), np.maximum(whole.rows, whole.cols)
    edges = np.unique(high[low < high] * np.int64(whole.vertices) + low[low < high])
    rows, cols = np.divmod(edges, whole.vertices)
    shape = whole.vertices, whole.vertices
    lower: Any = csr_array((np.ones(len(edges), np.int64), (rows, cols)), shape=shape)
    _check_counts(choice.config.format, lower, graph)
    with SparseProducts(choice) as products:
        operand = products.operand(lower)
        wedges = to_csr(products.multiply(operand, operand))
        tally = products.tally
    closed = lower.multiply(wedges.astype(np.int64))
    count = int(closed.sum())
    expected = _reference(whole.vertices, rows, cols)
    agrees = "equal" if count == expected else "DIFFERENT"
    shown = [
        ("graph", f"{whole.vertices:,} vertices, {len(edges):,} edges without direction"),
        ("triangles", f"{count:,}"),
        ("NetworkX triangles", f"{expected:,}: {agrees}"),
    ]
    details = {
        "graph": str(graph),
        "vertices": whole.vertices,
        "edges": len(edges),
        "triangles": count,
        "reference": expected,
    }
    sparse_report("triangles", f"triangles of {graph.name}", shown, choice, tally, details,
                  wrong=count != expected).finish()  # fmt: skip


def _check_counts(fmt: Any, lower: Any, graph: Path) -> None:
    """Refuse a format that does not hold every count."""
    if not isinstance(fmt, FloatFormat):
        return
    most = int(min(np.diff(lower.indptr).max(), np.bincount(lower.indices).max(initial=0)))
    if most > 1 << fmt.significand_bits:
        raise UserError(f"{graph}: counts may reach {most}, which {fmt.name} does not hold; "
                        f"--set value=int32 does")  # fmt: skip


@activity("counting triangles by NetworkX")
def _reference(vertices: int, rows: Any, cols: Any) -> int:
    networkx = need("networkx", "NetworkX")
    graph = networkx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(zip(rows.tolist(), cols.tolist(), strict=True))
    return int(sum(networkx.triangles(graph).values())) // 3


Labels = NDArray[np.int64]
Square = Callable[[Any], Any]

_MOST_ITERATIONS = 100
_SETTLED = 1e-5


def find_clusters(
    choice: SparseChoice,
    edges: Graph,
    graph: Path,
    *,
    inflation: float,
    prune: float,
    output: Path | None,
) -> None:
    """Find clusters, write them if that is asked for, and report."""
    start = _steps(edges)
    warn_rounding(f"{graph}: probabilities of steps", round_to(start.data, choice.config.format),
                  choice.config.format)  # fmt: skip
    with SparseProducts(choice) as products:

        def square(matrix: Any) -> Any:
            operand = products.operand(matrix)
            return to_csr(products.multiply(operand, operand)).astype(np.float64)

        final, iterations, settled = _iterate(start, square, inflation, prune)
        tally = products.tally
    found = _clusters(final)
    reference, _, _ = _iterate(start, lambda matrix: matrix @ matrix, inflation, prune)
    expected = _clusters(reference)
    same = bool(np.array_equal(found, expected))
    sizes = np.sort(np.bincount(found))[::-1]
    shown = ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "")
    ending = "nothing changed in the last" if settled else "the most that are allowed"
    rows = [
        ("graph", f"{edges.vertices:,} vertices, {edges.edges:,} edges"),
        ("iterations", f"{iterations} ({ending})"),
        ("clusters", f"{len(sizes):,}, of {shown} vertices"),
        ("float64, SciPy", f"{expected.max() + 1:,} clusters: "
                           f"{'the same' if same else 'DIFFERENT'}"),
    ]  # fmt: skip
    if output:
        write_array(output, found.reshape(-1, 1))
        rows.append(("result", str(output)))
    details = {
        "graph": str(graph),
        "vertices": edges.vertices,
        "edges": edges.edges,
        "inflation": inflation,
        "prune": prune,
        "iterations": iterations,
        "settled": settled,
        "clusters": [int(size) for size in sizes],
        "reference_clusters": int(expected.max()) + 1,
        "same": same,
    }
    sparse_report("mcl", f"Markov clusters of {graph.name}", rows, choice, tally, details,
                  wrong=not same).finish()  # fmt: skip


def _steps(graph: Graph) -> Any:
    """Probabilities of the steps from each vertex, a loop as heavy as its heaviest edge added, in
    shares of which all weights are, so that no sum overflows."""
    both = graph.undirected(np.maximum)
    away = both.rows != both.cols
    rows, cols, weights = both.rows[away], both.cols[away], both.weights[away]
    loops = np.zeros(graph.vertices)
    np.maximum.at(loops, rows, weights)
    loops[loops == 0] = 1.0
    vertices = np.arange(graph.vertices)
    matrix = csr_array(
        (
            np.concatenate([weights / loops[rows], np.ones(graph.vertices)]),
            (np.concatenate([rows, vertices]), np.concatenate([cols, vertices])),
        ),
        shape=(graph.vertices, graph.vertices),
    )
    return _scaled(matrix)


def _scaled(matrix: Any) -> Any:
    """Rows that add up to 1."""
    lengths = np.diff(matrix.indptr)
    sums = np.bincount(np.repeat(np.arange(len(lengths)), lengths), matrix.data, len(lengths))
    return csr_array(
        (matrix.data / np.repeat(sums, lengths), matrix.indices, matrix.indptr), shape=matrix.shape
    )


def _iterate(start: Any, square: Square, inflation: float, prune: float) -> tuple[Any, int, bool]:
    """The final matrix, the iterations, and whether the last one changed nothing."""
    current, settled, iterations = start, False, 0
    while not settled and iterations < _MOST_ITERATIONS:
        iterations += 1
        found = csr_array(square(current))
        found.sort_indices()
        found.data = found.data**inflation
        found = _pruned(_scaled(found), prune)
        difference = abs(found - current)
        settled = not difference.nnz or float(difference.max()) < _SETTLED
        current = found
    return current, iterations, settled


def _pruned(matrix: Any, least: float) -> Any:
    """Drops tiny entries and rescales; the largest of every row stays."""
    lengths = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    most = np.zeros(len(lengths))
    np.maximum.at(most, rows, matrix.data)
    kept = (matrix.data >= least) | (matrix.data == most[rows])
    pruned = csr_array((matrix.data[kept], (rows[kept], matrix.indices[kept])), shape=matrix.shape)
    return _scaled(pruned)


def _clusters(matrix: Any) -> Labels:
    """A number for each vertex: vertices whose steps lead to the same attractors, in order of their
    first vertices."""
    likely = matrix.tocoo()
    solid = likely.data > 1e-3
    pattern = csr_array(
        (np.ones(int(solid.sum())), (likely.row[solid], likely.col[solid])), shape=matrix.shape
    )
    labels = connected(pattern)
    _, first = np.unique(labels, return_index=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[labels]
