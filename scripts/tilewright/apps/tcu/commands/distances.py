"""``tilewright run distances``: distances in an undirected graph, on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, check_squares, choose_tcu

__all__ = ["distances"]

_WORDS = ("int64", "fp32", "fp64")


def distances(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help=f"Adjacency matrix of an undirected graph, 0 and 1, {ARRAY_NAMES}.",
        ),
    ],
    words: Annotated[str, typer.Option(help=f"{', '.join(_WORDS)}.")] = "int64",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=f"Write the distances, inf between components, {ARRAY_NAMES}."
        ),
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Find the distances between all vertices of an undirected graph on a tensor unit, by Seidel's
    algorithm.

    Takes two products per level, one component after the other. The distances are checked against
    SciPy.
    """
    choice = choose_tcu(options)
    if words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    if output:
        check_output(output)
    check_squares([(graph, check_first_lines(graph))])
    from ..graphs import measure_graph

    measure_graph(choice, words, graph, output)
