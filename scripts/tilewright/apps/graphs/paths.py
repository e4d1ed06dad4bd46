"""The best paths between all pairs of vertices: by dense products, or their time alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...hw.spec.host.activity import activity
from ..common.graph import Graph
from ..common.graph_references import Reference, has_negative_cycle, hop_diameter
from ..common.limits import MOST_OPERATIONS
from ..common.matrix_files import write_array
from ..common.picture import write_picture
from ..common.rounding import say
from ..common.units.engine_products import timed_products
from ..common.units.matrix_unit import UnitChoice
from ..common.units.matrix_unit_numbers import Numbers, narrowest_format
from ..common.units.matrix_unit_runs import matrix_unit_report, measure, product_unit
from .accuracy import compare, sums_exact
from .closure import Notation, close, worst_case
from .closure_report import add_path, add_tree, closure_report, plot_of
from .hops import fewest_hops, settling
from .options import GraphOptions
from .problems import Problem

__all__ = ["best_paths", "time_paths"]


def time_paths(problem: Problem, graph: Graph, choice: UnitChoice, how: GraphOptions) -> None:
    """Report the iterations of a graph's closure and what they take on a choice's engine.

    Iterations are those of the run with values: with the convergence check they follow from the
    edges that best paths need. Raises UserError where they cannot be foreseen.
    """
    assert choice.engine
    size = graph.vertices
    iterations, settled, hops = worst_case(how.algorithm, size), None, None
    ending = "not checked"
    if how.convergence_check:
        with activity("iterations, from the graph"):
            hops = fewest_hops(Notation(problem, choice.numbers), graph).most
        iterations, settled = settling(how.algorithm, hops, size)
        ending = "nothing changes in the last" if settled else "the worst case"
        ending += f": best paths need up to {hops:,} edges"
    tally = timed_products(
        choice.engine, choice.mode, (size, size, size), use_c=True, times=iterations
    )
    rows = [
        ("graph", f"{size:,} vertices, {graph.edges:,} edges"),
        ("algorithm", f"{how.algorithm}, {iterations:,} iterations ({ending})"),
        ("values", "not computed: time does not depend on them"),
    ]
    details: dict[str, Any] = {
        "graph": graph.name,
        "vertices": size,
        "edges": graph.edges,
        "algorithm": how.algorithm,
        "convergence_check": how.convergence_check,
        "iterations": iterations,
        "settled": settled,
        "hops": hops,
    }
    title = f"{problem.title} of {Path(graph.name).name}"
    matrix_unit_report(problem.name, title, rows, choice, tally, {}, details).finish()


Floats = NDArray[np.float64]


def foresee(notation: Notation, graph: Graph, reference: Reference) -> None:
    """Refuse what the unit's format cannot hold, and warn of what it will round.

    Raises UserError that names the format that can.
    """
    problem, element = notation.problem, notation.numbers.element
    finite = reference.values[np.isfinite(reference.values)]
    if problem.weights == "ignored":
        return
    for what, values in (("weights", graph.weights), ("values of paths", finite)):
        _check_range(notation, f"{graph.name}: {what}", values)
    exact = graph.weights == notation.rounded(graph.weights)
    if not exact.all():
        count = f"{np.count_nonzero(~exact)} of {graph.edges} weights"
        holding = _format_for(notation, graph.weights, exactly=True)
        if isinstance(element, IntFormat):
            raise UserError(f"{graph.name}: {count} are not integers, which {element.name} needs; "
                            f"--set format={holding} holds them")  # fmt: skip
        say(f"{graph.name}: {count} are not {element.name} numbers and are rounded; "
            f"--set format={holding} holds them exactly")  # fmt: skip
    elif problem.joining == "sum" and not sums_exact(notation, graph, finite):
        integers = np.array_equal(graph.weights, np.rint(graph.weights))
        holding = _format_for(notation, finite, exactly=True) if integers else "fp64"
        if holding != element.name:
            say(f"{graph.name}: values of paths are not all {element.name} numbers and are "
                f"rounded in every iteration; --set format={holding} "
                f"{'holds them exactly' if integers else 'rounds least'}")  # fmt: skip


def _check_range(notation: Notation, what: str, values: Floats) -> None:
    element = notation.numbers.element
    highest = float(np.max(np.abs(values), initial=0.0))
    holding = _format_for(notation, values)
    if highest > notation.reach:
        raise UserError(
            f"{what} up to {highest:.6g} exceed what {element.name} holds, {notation.reach:.6g}; "
            f"--set format={holding} holds them"
        )
    sizes = np.abs(values[values != 0])
    if not isinstance(element, FloatFormat) or not sizes.size:
        return
    smallest = float(sizes.min())
    if smallest >= _smallest_normal(element):
        return
    text = (
        f"{what} down to {smallest:.3g} are below the normal numbers of {element.name}, "
        f"{_smallest_normal(element):.3g} and more; --set format={holding} holds them"
    )
    vanishes = not notation.rounded(sizes).all()
    problem = notation.problem
    if problem.joining == "product" or (vanishes and problem.weights == "not negative"):
        raise UserError(text)
    say(text)


def _smallest_normal(fmt: FloatFormat) -> float:
    return 2.0**fmt.emin


def _format_for(notation: Notation, values: Floats, *, exactly: bool = False) -> str:
    """The narrowest format that holds values of the problem, as normal numbers."""
    integers = isinstance(notation.numbers.element, IntFormat)

    def holds(fmt: Format) -> bool:
        other = Notation(notation.problem, Numbers(element=fmt, result=fmt))
        if np.max(np.abs(values), initial=0.0) > other.reach:
            return False
        if isinstance(fmt, IntFormat) or exactly:
            return np.array_equal(other.rounded(values), values)
        return bool(np.min(np.abs(values[values != 0]), initial=1.0) >= _smallest_normal(fmt))

    return narrowest_format(holds, integers=integers)


def best_paths(
    problem: Problem, graph: Graph, choice: UnitChoice, how: GraphOptions, tree: Path | None
) -> None:
    """Compute the closure of a graph, write the requested files, and report it."""
    notation = Notation(problem, choice.numbers)
    with activity("computing the reference"):
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
        write_picture(how.picture, plot_of(problem, graph.name, shown))
        rows.append(("picture", str(how.picture)))
    title = f"{problem.title} of {Path(graph.name).name}"
    errors = {"unit": measure(closure.values, reference.values)}
    matrix_unit_report(
        problem.name, title, rows, choice, tally, errors, details, wrong=wrong
    ).finish()


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
