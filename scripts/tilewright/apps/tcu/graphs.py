"""Closure and distances of graphs on a tensor unit, against SciPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError
from ...sim.tcu.blocks import multiple
from ...sim.tcu.graphs.adjacency import zeros_and_ones
from ...sim.tcu.graphs.closure import closure
from ...sim.tcu.graphs.distances import distances
from ...sim.tcu.words import Array
from ..common.limits import check_operations
from ..common.matrix_files import read_matrix, write_array
from ..common.words import counted
from ..gta.agreement import exactly
from .counts import work_of
from .options import TcuChoice
from .padding import padded_to, smaller_than_a_block
from .report import finish_tcu
from .squares import check_squares
from .unit import computing, open_unit, words_named

__all__ = ["close_graph", "measure_graph"]


def close_graph(choice: TcuChoice, words: str, file: Path, output: Path | None) -> None:
    """Close the graph of a file, write what is reached if that is asked for, and report."""
    given = _adjacency(file)
    if np.isnan(given).any():
        raise UserError(f"{file}: must hold numbers, not nan")
    if np.isinf(given).any():
        raise UserError(f"{file}: must hold finite numbers; inf is no edge with --words minplus")
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
    # To a neighbour, and from it anywhere in any number of edges, none included.
    anywhere = np.isfinite(_scipy(a, directed=True)).astype(float)
    reference = (a.astype(float) @ anywhere > 0).astype(np.int64)
    agreement = exactly("SciPy", found, reference)
    finish_tcu("closure", file.name, rows, choice, unit, [agreement], details)


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
    finish_tcu("distances", file.name, rows, choice, unit, [agreement], details)


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
