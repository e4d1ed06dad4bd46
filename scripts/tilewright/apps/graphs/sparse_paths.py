"""Shortest paths by sparse products, min-plus.

D holds the lengths of the paths found so far, an entry for each pair of vertices that has one,
zeros on the diagonal. D (x) D then holds the paths of up to twice as many edges: the same closure
as the dense one, on as many entries as there are paths.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...errors import UserError
from ...hw.spec.formats import IntFormat
from ...hw.spec.host.activity import activity
from ...sim.sparse.c2sr import C2sr, to_csr
from ..common.graph import Graph
from ..common.graph_references import has_negative_cycle
from ..common.matrix_files import write_array
from ..common.picture import write_picture
from ..common.rounding import largest, round_to, say
from ..common.units.matraptor import SparseChoice
from ..common.units.matraptor_products import SparseProducts, sparse_report
from ..common.units.matrix_unit_numbers import Numbers
from .accuracy import compare, sums_exact
from .closure import Closure, Notation, worst_case
from .closure_report import closure_report, plot_of
from .options import GraphOptions
from .problems import Problem

__all__ = ["sparse_paths"]

Floats = NDArray[np.float64]


def sparse_paths(problem: Problem, graph: Graph, choice: SparseChoice, how: GraphOptions) -> None:
    """Compute the closure of a graph by sparse products, and report it."""
    fmt = choice.config.format
    notation = Notation(problem, Numbers(element=fmt, result=fmt))
    with activity("computing the reference"):
        reference = problem.reference(graph)
    _foresee(notation, choice, graph, reference.values)
    if (graph.weights < 0).any() and has_negative_cycle(graph, notation.rounded(graph.weights)):
        raise UserError(f"{graph.name}: rounded to {fmt.name}, the weights have a cycle of "
                        f"negative length; choose a wider format")  # fmt: skip
    with SparseProducts(choice) as products:
        closure, entries = _close(problem, graph, how, products)
        tally = products.tally
    agreement = compare(notation, graph, reference, closure, how.algorithm)
    rows, details = closure_report(notation, graph, how, closure, reference, agreement)
    rows.insert(2, ("entries", " -> ".join(f"{count:,}" for count in entries)))
    details["entries"] = entries
    if how.output:
        write_array(how.output, closure.values)
        rows.append(("values", str(how.output)))
    if how.picture:
        write_picture(how.picture, plot_of(problem, graph.name, closure.values))
        rows.append(("picture", str(how.picture)))
    title = f"{problem.title} of {Path(graph.name).name}, sparse"
    sparse_report(problem.name, title, rows, choice, tally, details,
                  wrong=bool(agreement.wrong)).finish()  # fmt: skip


def _foresee(notation: Notation, choice: SparseChoice, graph: Graph, values: Floats) -> None:
    """Refuse what the format cannot hold, and warn of what it will round."""
    fmt, finite = choice.config.format, values[np.isfinite(values)]
    for what, numbers in (("weights", graph.weights), ("values of paths", finite)):
        highest = float(np.max(np.abs(numbers), initial=0.0))
        if highest > largest(fmt):
            raise UserError(
                f"{graph.name}: {what} up to {highest:.6g} exceed what {fmt.name} holds, "
                f"{largest(fmt):.6g}; --set value=fp64 holds more"
            )
    weights = round_to(graph.weights, fmt)
    if weights.inexact and isinstance(fmt, IntFormat):
        raise UserError(
            f"{graph.name}: {weights.inexact} of {graph.edges} weights are not integers, which "
            f"{fmt.name} needs; --set value=fp32 rounds them"
        )
    if weights.vanished:
        say(f"{graph.name}: {weights.vanished} of {graph.edges} weights are too small for "
            f"{fmt.name} and become zero")  # fmt: skip
    if weights.inexact:
        say(f"{graph.name}: {weights.inexact} of {graph.edges} weights are not {fmt.name} numbers "
            f"and are rounded; --set value=fp64 rounds least")  # fmt: skip
    elif fmt.name != "fp64" and not sums_exact(notation, graph, finite):
        say(f"{graph.name}: values of paths are not all {fmt.name} numbers and are rounded in "
            f"every iteration; --set value=fp64 rounds least")  # fmt: skip


def _close(
    problem: Problem, graph: Graph, how: GraphOptions, products: SparseProducts
) -> tuple[Closure, list[int]]:
    """The closure, and the entries before and after every iteration."""
    edges = products.operand(_direct(graph))
    current, entries = edges, [edges.nnz]
    highest = float(np.max(np.abs(graph.weights), initial=0.0))
    settled: bool | None = None
    iterations = 0
    while not settled and iterations < worst_case(how.algorithm, graph.vertices):
        iterations += 1
        left = current if how.algorithm == "leyzorek" else edges
        found = products.multiply(left, current)
        settled = _same(found, current) if how.convergence_check else None
        current = found
        entries.append(current.nnz)
    matrix: Any = to_csr(current)
    values = np.full(matrix.shape, problem.absent)
    rows = np.repeat(np.arange(graph.vertices), np.diff(matrix.indptr))
    values[rows, matrix.indices] = matrix.data
    finite = np.abs(matrix.data[np.isfinite(matrix.data)].astype(np.float64))
    closure = Closure(
        values=values,
        iterations=iterations,
        settled=settled,
        rounded=0,
        largest=max(highest, float(finite.max(initial=0.0))),
    )
    return closure, entries


def _direct(graph: Graph) -> Any:
    """Paths of one edge at most: on the diagonal the empty path, or a shorter loop."""
    loops = graph.rows == graph.cols
    diagonal = np.zeros(graph.vertices)
    np.minimum.at(diagonal, graph.rows[loops], graph.weights[loops])
    away = ~loops
    vertices = np.arange(graph.vertices)
    rows = np.concatenate([graph.rows[away], vertices])
    cols = np.concatenate([graph.cols[away], vertices])
    weights = np.concatenate([graph.weights[away], diagonal])
    return csr_array((weights, (rows, cols)), shape=(graph.vertices,) * 2)


def _same(x: C2sr, y: C2sr) -> bool:
    return all(map(np.array_equal, x.patterns(), y.patterns()))
