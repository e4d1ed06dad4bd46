"""``tilewright run apsp|aplp|mcp|maxrp|minrp|mst|gtc``: closures of graphs over semirings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...errors import UserError
from ..common.extras import need
from ..common.files import check_output, write_array
from ..common.limits import MOST_OPERATIONS, VERTICES
from ..common.picture import check_picture, write_picture
from ..dense.report import finish, measure
from ..dense.session import UnitChoice, choose_semiring_unit, product_unit
from .accuracy import compare
from .closure import Notation, close, worst_case
from .forecast import foresee
from .graph import Graph, read_graph
from .options import GraphOptions, SemiringOptions, check_words, prepared
from .problems import PROBLEMS, Problem
from .references import has_negative_cycle, hop_diameter
from .report import add_path, add_tree, closure_report
from .sparse_options import SparseExtra
from .sparse_paths import sparse_paths

__all__ = ["aplp", "apsp", "gtc", "maxrp", "mcp", "minrp", "mst"]

GraphArgument = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="Adjacency matrix, .mtx or .npy.")
]
TreeOption = Annotated[Path | None, typer.Option(help="The forest's edges, .mtx (mst only).")]


def _command(problem: Problem) -> Callable[..., None]:
    """The command of a problem, with its help as docstring."""

    def run(graph: GraphArgument, how: GraphOptions, options: SemiringOptions) -> None:
        _run(problem, graph, how, options)

    def run_tree(
        graph: GraphArgument, how: GraphOptions, options: SemiringOptions, tree: TreeOption = None
    ) -> None:
        _run(problem, graph, how, options, tree)

    def run_sparse(
        graph: GraphArgument, how: GraphOptions, options: SemiringOptions, sparse: SparseExtra,
    ) -> None:  # fmt: skip
        if sparse.sparse:
            sparse_paths(problem, graph, how, sparse.options(options))
        else:
            sparse.check_none()
            _run(problem, graph, how, options)

    command: Callable[..., None] = run_tree if problem.undirected else run
    if problem.name == "apsp":
        command = run_sparse
    command.__doc__ = (
        f"Compute {problem.title}, of all pairs of vertices: iterated {problem.operation}.\n\n"
        f"Every operation goes through the unit and is checked; the values are compared with "
        f"those of a library."
    )
    return command


def _run(
    problem: Problem, file: Path, how: GraphOptions, options: SemiringOptions,
    tree: Path | None = None,
) -> None:  # fmt: skip
    check_words(how)
    choice = choose_semiring_unit(options, problem.name, problem.operation)
    if how.output:
        check_output(how.output)
    if tree:
        check_output(tree, (".mtx",), beside=how.output)
    if how.picture:
        check_picture(how.picture)
    if problem.networkx:
        need("networkx", "NetworkX")
    notation = Notation(problem, choice.numbers)
    whole = read_graph(file, problem.combine, lambda what, n: _check_vertices(choice, what, n))
    graph = prepared(whole, problem, how)
    reference = problem.reference(graph)
    foresee(notation, graph, reference)
    if problem.name == "apsp" and (graph.weights < 0).any():
        _check_rounded_cycles(notation, graph)
    count = _foreseen_operations(choice, graph, how)
    start = _direct(problem, graph)
    with product_unit(choice, count) as (multiply, tally):
        closure = close(notation, start, multiply, how.algorithm, check=how.convergence_check)
    agreement = compare(notation, graph, reference, closure, how.algorithm)
    rows, details = closure_report(notation, graph, how, closure, reference, agreement)
    wrong = bool(agreement.wrong)
    if problem.name == "aplp" and not wrong:
        wrong |= add_path(graph, closure, agreement, rows, details)
    if problem.undirected and not wrong:
        wrong |= add_tree(notation, graph, closure, tree, rows, details)
    if how.output:
        write_array(how.output, closure.values)
        rows.append(("values", str(how.output)))
    if how.picture:
        shown = np.where(closure.values == problem.absent, np.inf, closure.values)
        write_picture(how.picture, shown)
        rows.append(("picture", str(how.picture)))
    errors = {"unit": measure(closure.values, reference.values)}
    finish(problem.name, f"{problem.title} of {file.name}", rows, choice, tally, errors, details,
           wrong=wrong)  # fmt: skip


def _check_vertices(choice: UnitChoice, what: object, vertices: int) -> None:
    most = VERTICES[choice.backend]
    if vertices > most:
        operations = choice.operations(1, (vertices, vertices, vertices))
        raise UserError(
            f"{what}: {vertices} vertices are too many for the {choice.backend} backend, which "
            f"takes at most {most}; each iteration would be {operations:,} operations of the unit"
        )


def _foreseen_operations(choice: UnitChoice, graph: Graph, how: GraphOptions) -> int:
    """Operations of the worst case; UserError if even the likely number is too large."""
    each = choice.operations(1, (graph.vertices,) * 3)
    most = likely = worst_case(how.algorithm, graph.vertices)
    if how.convergence_check and how.algorithm == "bellman-ford":
        likely = min(most, hop_diameter(graph))
    if each * likely > MOST_OPERATIONS:
        raise UserError(
            f"{graph.name}: {likely} iterations of {each:,} operations are too many; at most "
            f"{MOST_OPERATIONS:,} operations are allowed: choose a larger tile, or leyzorek with "
            f"the convergence check"
        )
    return each * most


def _check_rounded_cycles(notation: Notation, graph: Graph) -> None:
    if has_negative_cycle(graph, notation.rounded(graph.weights)):
        raise UserError(
            f"{graph.name}: rounded to {notation.numbers.element.name}, the weights have a cycle "
            f"of negative length; choose a wider format"
        )


def _direct(problem: Problem, graph: Graph) -> Any:
    """Paths of one edge at most."""
    matrix = graph.dense(problem.absent)
    np.fill_diagonal(matrix, problem.combine(np.diagonal(matrix), problem.empty))
    return matrix


apsp = _command(PROBLEMS["apsp"])
aplp = _command(PROBLEMS["aplp"])
mcp = _command(PROBLEMS["mcp"])
maxrp = _command(PROBLEMS["maxrp"])
minrp = _command(PROBLEMS["minrp"])
mst = _command(PROBLEMS["mst"])
gtc = _command(PROBLEMS["gtc"])
