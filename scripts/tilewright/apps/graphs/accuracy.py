"""Bounds the change of a closure by rounding, and checks that a result is within the bound.

Let u and v be the relative rounding errors of the operands' and of the results' format. The value
of a path is joined from its edges in a binary tree; empty paths in between are exact, and a number
that is in the operands' format already is not rounded again. (+) chooses among values that are all
within the bound, so that its choice is.

* Sums of values of one sign: k iterations are at most k levels, and e becomes
  (1 + e)(1 + u)(1 + v) - 1 with each, relatively; e is u at first.
* Otherwise all n edges of a path count, n being at most 2^k (squaring), k + 1 (an edge at a time)
  or, without cycles, the longest path's: each edge is rounded by u, and so is each of the
  n - 1 joints, which is rounded by v too. Products: (1 + u)^2n (1 + v)^n - 1, relatively.
* Sums of mixed signs: n (2 u + v) M, absolutely, M the largest magnitude on the way.

Sums in the range of subnormal numbers add half of the smallest one for each rounding. Minima and
maxima do not round: the result is the reference's, rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ..common.graph import Graph
from ..common.graph_references import Reference, longest_chain
from .closure import Closure, Notation

__all__ = ["Agreement", "compare", "sums_exact"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A closure beside its reference.

    Parameters
    ----------
    criterion: "exact": equal to the reference rounded to the unit's format; "relative" and
        "absolute": no farther from it than ``bound``
    bound: by which the rounding of all iterations may change a value
    worst: the largest distance found, by the same measure
    wrong: values beyond the bound, or with a path where there is none, or the reverse
    """

    criterion: str
    bound: float
    worst: float
    wrong: int


def sums_exact(notation: Notation, graph: Graph, finite: Floats) -> bool:
    """Tells whether all sums of weights that matter are integers that the operands hold."""
    element = notation.numbers.element
    integers = np.array_equal(graph.weights, np.rint(graph.weights))
    if isinstance(element, IntFormat):
        return integers
    highest = max(float(np.max(np.abs(x), initial=0.0)) for x in (finite, graph.weights))
    return integers and highest <= 2.0**element.significand_bits


def compare(
    notation: Notation, graph: Graph, reference: Reference, closure: Closure, algorithm: str
) -> Agreement:
    """Hold a closure against the reference."""
    found, expected = closure.values, reference.values
    finite = np.isfinite(expected)
    if notation.problem.joining == "selection" or sums_exact(notation, graph, expected[finite]):
        rounded = notation.rounded(expected)
        distance = np.abs(np.where(finite, found, 0.0) - np.where(finite, rounded, 0.0))
        wrong = found != rounded
        return _agreement("exact", 0.0, distance, wrong)
    relative, tiny = _bound(notation, graph, reference, closure, algorithm)
    distance = np.abs(np.where(finite, found, 0.0) - np.where(finite, expected, 0.0))
    scale = np.where(finite, np.abs(expected), 0.0)
    absent = expected == notation.problem.absent
    wrong = ~(distance <= relative * scale + tiny) | (found == notation.problem.absent) != absent
    wrong |= ~finite & (found != expected)
    if not relative:
        return _agreement("absolute", tiny, distance, wrong)
    return _agreement("relative", relative, distance[scale > 0] / scale[scale > 0], wrong)


def _agreement(criterion: str, bound: float, errors: Floats, wrong: NDArray[np.bool_]) -> Agreement:
    worst = float(np.max(errors[np.isfinite(errors)], initial=0.0))
    return Agreement(criterion=criterion, bound=bound, worst=worst, wrong=int(wrong.sum()))


def _unit_roundoff(fmt: Format) -> float:
    return 0.0 if isinstance(fmt, IntFormat) else 2.0**-fmt.significand_bits


def _bound(
    notation: Notation, graph: Graph, reference: Reference, closure: Closure, algorithm: str
) -> tuple[float, float]:
    """The relative and the absolute part of what rounding may have done to a value."""
    element, count = notation.numbers.element, closure.iterations
    assert isinstance(element, FloatFormat)
    u, v = _unit_roundoff(element), _unit_roundoff(notation.numbers.result)
    edges = 2.0**count if algorithm == "leyzorek" else count + 1.0
    if notation.problem.acyclic:
        edges = min(edges, longest_chain(graph))
    tiny = edges * 2.0 ** (element.emin - element.fraction_bits)
    if notation.problem.joining == "product":
        return float((1 + u) ** (2 * edges) * (1 + v) ** edges - 1 + reference.slack), 0.0
    if (graph.weights >= 0).all() or (graph.weights <= 0).all():
        return (1 + u) ** (count + 1) * (1 + v) ** count - 1 + reference.slack, tiny
    largest = max(closure.largest, float(np.max(np.abs(graph.weights)))) * (1 + 3 * edges * u)
    return 0.0, edges * (2 * u + v) * largest + tiny + reference.slack * largest
