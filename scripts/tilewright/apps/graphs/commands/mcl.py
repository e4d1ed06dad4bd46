"""``tilewright run mcl``: Markov clustering by sparse squares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.formats import FloatFormat
from ....numbers_given import real
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_graph_file
from ...common.memory import check_memory
from ...common.options import DeviceOptions
from ...common.units.matraptor import LanesOption, choose_sparse_unit

__all__ = ["VERTEX_BYTES", "mcl"]

VERTEX_BYTES = 450
"""Bytes that a run takes, at its peak, for each vertex, one without edges too."""


def mcl(
    graph: Annotated[
        Path, typer.Argument(metavar="GRAPH", help=f"Adjacency matrix, {ARRAY_NAMES}.")
    ],
    inflation: Annotated[
        float,
        typer.Option(
            parser=real("--inflation", 1.01, 20),
            metavar="R",
            help="Power of the inflation, in 1.01..20; a higher one finds more clusters.",
        ),
    ] = 2.0,
    prune: Annotated[
        float,
        typer.Option(
            parser=real("--prune", 0, 0.5),
            metavar="P",
            help="Drop steps with a probability below P, in 0..0.5.",
        ),
    ] = 1e-4,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"Write the cluster of each vertex, counted from 0, {ARRAY_NAMES}.",
        ),
    ] = None,
    lanes: LanesOption = None,
    *,
    options: DeviceOptions,
) -> None:
    """Find clusters of a graph by Markov clustering: sparse plus-times.

    Edges are used in both directions, and every vertex gets a loop. The clusters are compared with
    those of the same iterations in float64 by SciPy.
    """
    choice = choose_sparse_unit(options, "mma", lanes=lanes, app="mcl")
    if not isinstance(choice.config.format, FloatFormat):
        raise UserError(f"`value` must be a float format for mcl, not {choice.config.value!r}")
    if output:
        check_output(output)
    check_graph_file(graph, _check_vertices)
    from numpy import maximum

    from ...common.graph import read_graph

    edges = read_graph(graph, maximum, _check_vertices)
    negative = edges.weights < 0
    if negative.any():
        place = int(negative.argmax())
        raise UserError(f"{graph}: mcl needs weights that are not negative, but the edge "
                        f"{edges.edge(place)} has {edges.weights[place]:.6g}")  # fmt: skip
    from ..sparse_products import find_clusters

    find_clusters(choice, edges, graph, inflation=inflation, prune=prune, output=output)


def _check_vertices(what: object, vertices: int) -> None:
    check_memory(f"{what}: clusters of {vertices} vertices", VERTEX_BYTES * vertices)
