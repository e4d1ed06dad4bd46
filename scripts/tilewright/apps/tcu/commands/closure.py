"""``tilewright run closure``: what can be reached in a directed graph, on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, check_squares, choose_tcu

__all__ = ["closure"]

_WORDS = ("int64", "fp32", "fp64", "boolean", "minplus")


def closure(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help=f"Adjacency matrix, {ARRAY_NAMES}: an edge where an element is not 0.",
        ),
    ],
    words: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(_WORDS)}: sums of products cut down to 1; or and and; lengths of "
            "paths, an element being that of an edge."
        ),
    ] = "int64",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=f"Write the result, 0 and 1, or lengths, {ARRAY_NAMES}."
        ),
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Find what can be reached from each vertex of a directed graph on a tensor unit.

    Paths have one edge or more; with --words minplus the result is their lengths. Uses Floyd and
    Warshall's algorithm in blocks. The result is checked against SciPy.
    """
    choice = choose_tcu(options)
    if words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    if output:
        check_output(output)
    check_squares([(graph, check_first_lines(graph))])
    if words == "minplus":
        from ..graphs import close_lengths

        close_lengths(choice, words, graph, output)
        return
    from ..graphs import close_graph

    close_graph(choice, words, graph, output)
