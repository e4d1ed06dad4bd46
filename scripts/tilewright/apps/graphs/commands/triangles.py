"""``tilewright run triangles``: triangles of a graph by one sparse product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import check_installed
from ...common.files import ARRAY_NAMES
from ...common.memory import check_memory
from ...sparse.options import SparseOptions, choose_sparse_unit
from ..adjacency import check_graph_file

__all__ = ["VERTEX_BYTES", "triangles"]

VERTEX_BYTES = 700
"""Bytes that a run takes, at its peak, for each vertex, most of them of NetworkX."""


def triangles(
    graph: Annotated[
        Path, typer.Argument(metavar="GRAPH", help=f"Adjacency matrix, {ARRAY_NAMES}.")
    ],
    *,
    options: SparseOptions,
) -> None:
    """Count the triangles of a graph: sparse plus-times, checked against NetworkX.

    Directions and weights of edges, and loops, do not count.
    """
    choice = choose_sparse_unit(options, "mma", app="triangles", value="int32")
    check_installed("networkx", "NetworkX")
    check_graph_file(graph, _check_vertices)
    from numpy import maximum

    from ..graph import read_graph

    whole = read_graph(graph, maximum, _check_vertices)
    from ..triangles import count_triangles

    count_triangles(choice, whole, graph)


def _check_vertices(what: object, vertices: int) -> None:
    check_memory(f"{what}: triangles of {vertices} vertices", VERTEX_BYTES * vertices)
