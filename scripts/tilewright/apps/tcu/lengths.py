"""Lengths of shortest paths in a graph with weights on a tensor unit, against SciPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu.blocks import multiple
from ...sim.tcu.dense.rounding import gamma
from ...sim.tcu.graphs.closure import closure
from ...sim.tcu.words import FP64, Array
from ..common.limits import check_operations, check_size
from ..common.matrix_files import write_array
from ..common.words import counted
from ..graphs.graph import Graph, read_graph
from ..graphs.references import shortest
from ..gta.agreement import Agreement, exactly, within
from .counts import work_of
from .options import TcuChoice
from .padding import padded_to, smaller_than_a_block
from .report import finish_tcu
from .unit import open_unit, words_named

__all__ = ["close_lengths"]


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
    finish_tcu("closure", file.name, rows, choice, unit, agreements, details)


def _agreements(found: Array, graph: Graph, wide: int) -> list[Agreement]:
    """Beside SciPy: equal, if sums of weights are integers that floats hold."""
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
