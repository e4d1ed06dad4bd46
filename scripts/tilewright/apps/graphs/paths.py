"""The best paths between all pairs of vertices, by dense products, and their report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ..common.limits import MOST_OPERATIONS
from ..common.matrix_files import write_array
from ..common.picture import write_picture
from ..dense.report import finish, measure
from ..dense.session import product_unit
from ..dense.unit_choice import UnitChoice
from .accuracy import compare
from .closure import Notation, close, worst_case
from .forecast import foresee
from .graph import Graph
from .options import GraphOptions
from .problems import Problem
from .references import has_negative_cycle, hop_diameter
from .report import add_path, add_tree, closure_report

__all__ = ["best_paths"]


def best_paths(
    problem: Problem, graph: Graph, choice: UnitChoice, how: GraphOptions, tree: Path | None
) -> None:
    """Compute the closure of a graph, write what is asked for, and report it."""
    notation = Notation(problem, choice.numbers)
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
    title = f"{problem.title} of {Path(graph.name).name}"
    errors = {"unit": measure(closure.values, reference.values)}
    finish(problem.name, title, rows, choice, tally, errors, details, wrong=wrong)


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
