"""What a unit's format will do to a closure, said before it is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ..common.rounding import say
from ..dense.operands import Numbers, narrowest_format
from .accuracy import sums_exact
from .closure import Notation
from .graph import Graph
from .references import Reference

__all__ = ["foresee"]

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
