"""Graphs with the edges and weights asked for, fit for an application."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.graph import Graph
from ..common.graph_references import strong_components
from .options import GraphOptions
from .problems import Problem

__all__ = ["prepared"]

Floats = NDArray[np.float64]


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
