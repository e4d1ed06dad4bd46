"""``tilewright run mcl``: Markov clustering by sparse squares.

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
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...numbers_given import real
from ...sim.sparse.c2sr import to_csr
from ..common.files import check_output
from ..common.matrix_files import write_array
from ..common.memory import check_memory
from ..common.rounding import round_to, warn_rounding
from ..sparse.options import SparseOptions, choose_sparse_unit
from ..sparse.report import finish_sparse
from ..sparse.session import sparse_unit
from .graph import Graph, read_graph
from .references import connected

__all__ = ["VERTEX_BYTES", "mcl"]

Labels = NDArray[np.int64]
Square = Callable[[Any], Any]

_MOST_ITERATIONS = 100
VERTEX_BYTES = 450
"""Bytes that a run takes, at its peak, for each vertex, one without edges too."""
_SETTLED = 1e-5


def mcl(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="Adjacency matrix, .mtx or .npy.")],
    inflation: Annotated[
        float,
        typer.Option(
            parser=real("--inflation", 1.01, 20),
            metavar="R",
            help="Power of the inflation, in 1.01..20; more: more clusters.",
        ),
    ] = 2.0,
    prune: Annotated[
        float,
        typer.Option(
            parser=real("--prune", 0, 0.5),
            metavar="P",
            help="Drop steps less likely than this, in 0..0.5.",
        ),
    ] = 1e-4,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Cluster of each vertex, from 0, .npy or .mtx."),
    ] = None,
    *,
    options: SparseOptions,
) -> None:
    """Find clusters of a graph by Markov clustering: sparse plus-times.

    Edges count in both directions; a loop is added to every vertex. The clusters are compared with
    those of the same iteration in float64 by SciPy.
    """
    choice = choose_sparse_unit(options, "mma", app="mcl")
    if not isinstance(choice.config.format, FloatFormat):
        raise UserError(f"`value` must be a float format for mcl, not {choice.config.value!r}")
    if output:
        check_output(output)
    edges = read_graph(graph, np.maximum, _check_vertices)
    if (edges.weights < 0).any():
        place = int(np.argmax(edges.weights < 0))
        raise UserError(f"{graph}: mcl needs weights that are not negative, but the edge "
                        f"{edges.edge(place)} has {edges.weights[place]:.6g}")  # fmt: skip
    start = _steps(edges)
    warn_rounding(f"{graph}: probabilities of steps", round_to(start.data, choice.config.format),
                  choice.config.format)  # fmt: skip
    with sparse_unit(choice) as products:

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
    finish_sparse("mcl", f"Markov clusters of {graph.name}", rows, choice, tally, details,
                  wrong=not same)  # fmt: skip


def _check_vertices(what: object, vertices: int) -> None:
    check_memory(f"{what}: clusters of {vertices} vertices", VERTEX_BYTES * vertices)


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
    """Without tiny entries; the largest of every row stays."""
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
