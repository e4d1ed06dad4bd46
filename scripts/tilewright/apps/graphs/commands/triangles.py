"""``tilewright run triangles``: triangles of a graph by one sparse product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.files import ARRAY_NAMES, check_installed
from ...common.first_lines import check_graph_file
from ...common.memory import check_memory
from ...common.options import DeviceOptions
from ...common.units.matraptor import LanesOption, choose_sparse_unit

__all__ = ["VERTEX_BYTES", "triangles"]

VERTEX_BYTES = 700
"""Bytes that a run takes, at its peak, for each vertex, most of them of NetworkX."""


def triangles(
    graph: Annotated[
        Path, typer.Argument(metavar="GRAPH", help=f"Adjacency matrix, {ARRAY_NAMES}.")
    ],
    lanes: LanesOption = None,
    *,
    options: DeviceOptions,
) -> None:
    """Count the triangles of a graph: sparse plus-times, checked against NetworkX.

    Directions and weights of edges, and loops, are ignored.
    """
    choice = choose_sparse_unit(options, "mma", lanes=lanes, app="triangles", value="int32")
    check_installed("networkx", "NetworkX")
    check_graph_file(graph, _check_vertices)
    from numpy import maximum

    from ...common.graph import read_graph

    whole = read_graph(graph, maximum, _check_vertices)
    from ..sparse_products import count_triangles

    count_triangles(choice, whole, graph)


def _check_vertices(what: object, vertices: int) -> None:
    check_memory(f"{what}: triangles of {vertices} vertices", VERTEX_BYTES * vertices)
