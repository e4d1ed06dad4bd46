"""What users may say about a graph, and the checks that make it fit for an application."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ..common.options import RunOptions
from .closure import ALGORITHMS
from .graph import Graph
from .problems import Problem
from .references import strong_components

__all__ = ["GraphOptions", "SemiringOptions", "check_words", "prepared"]

Floats = NDArray[np.float64]
_WEIGHTS = ("given", "rate", "share")


@dataclass(frozen=True, kw_only=True)
class SemiringOptions(RunOptions):
    """As `RunOptions`, on the semiring unit."""

    unit: Annotated[
        str, typer.Option("--unit", help="Matrix unit with semirings.", rich_help_panel="Unit")
    ] = "simd2"


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """How a graph is read and its closure computed."""

    algorithm: Annotated[
        str,
        typer.Option(help="leyzorek: C = C (+) C (x) C; bellman-ford: D = D (+) A (x) D."),
    ] = "leyzorek"
    convergence_check: Annotated[
        bool,
        typer.Option(
            "--convergence-check/--no-convergence-check",
            help="End when nothing changes, or after the worst case's number of iterations.",
        ),
    ] = True
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Take every edge in both directions.")
    ] = False
    upper_triangle: Annotated[
        bool,
        typer.Option(
            "--upper-triangle",
            help="Take only edges from a lower to a higher vertex, which close no cycle.",
        ),
    ] = False
    weights: Annotated[
        str,
        typer.Option(
            help="given; rate: a failure rate w becomes the reliability e^-w; share: w becomes "
            "its share of the largest weight."
        ),
    ] = "given"
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Values of all pairs of vertices, .npy or .mtx."),
    ] = None
    picture: Annotated[
        Path | None,
        typer.Option(
            help="The values as a picture, .png: dark is small, white no path or infinite."
        ),
    ] = None


def check_words(options: GraphOptions) -> None:
    """Refuse words that are none of those allowed."""
    for name, value, allowed in (
        ("--algorithm", options.algorithm, ALGORITHMS),
        ("--weights", options.weights, _WEIGHTS),
    ):
        if value not in allowed:
            raise UserError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    if options.undirected and options.upper_triangle:
        raise UserError("--undirected and --upper-triangle exclude each other")


def prepared(graph: Graph, problem: Problem, options: GraphOptions) -> Graph:
    """The graph with the edges and weights asked for, checked against the problem's demands.

    Raises UserError that names what the application forbids and the option that helps.
    """
    if problem.weights == "ignored":
        graph = graph.with_weights(np.ones(graph.edges))
    elif options.weights != "given":
        graph = graph.with_weights(_mapped(graph, options.weights))
    if options.undirected:
        graph = graph.undirected(problem.combine)
    if options.upper_triangle:
        graph = graph.upper_triangle()
    if problem.undirected and not graph.is_undirected:
        raise UserError(
            f"{graph.name}: {problem.name} needs a symmetric matrix, whose edges have no "
            f"direction; --undirected takes every edge in both"
        )
    _check_weights(graph, problem)
    if problem.acyclic:
        _check_acyclic(graph, problem)
    return graph


def _mapped(graph: Graph, kind: str) -> Floats:
    _refuse(graph, graph.weights < 0, f"--weights {kind} needs weights that are not negative")
    if kind == "rate":
        return np.exp(-graph.weights)
    largest = float(graph.weights.max())
    if not largest:
        raise UserError(f"{graph.name}: --weights share needs a weight above 0")
    return graph.weights / largest


def _check_weights(graph: Graph, problem: Problem) -> None:
    if problem.weights == "not negative":
        needs = f"{problem.name} needs capacities that are not negative"
        _refuse(graph, graph.weights < 0, needs)
    elif problem.weights == "reliability":
        needs = f"{problem.name} needs reliabilities above 0 and at most 1"
        help_text = "; --weights rate or --weights share makes such of other weights"
        _refuse(graph, ~((graph.weights > 0) & (graph.weights <= 1)), needs, help_text)


def _refuse(graph: Graph, wrong: NDArray[np.bool_], needs: str, help_text: str = "") -> None:
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(
            f"{graph.name}: {needs}, but the edge {graph.edge(place)} has the weight "
            f"{graph.weights[place]:.6g}{help_text}"
        )


def _check_acyclic(graph: Graph, problem: Problem) -> None:
    labels = strong_components(graph)
    inside = labels[graph.rows] == labels[graph.cols]
    if inside.any():
        edge = graph.edge(int(np.argmax(inside)))
        raise UserError(
            f"{graph.name}: {problem.name} needs a graph without cycles, but the edge {edge} lies "
            f"on one; --upper-triangle takes only edges from a lower to a higher vertex"
        )
