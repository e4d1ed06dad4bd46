"""``tilewright run pagerank|bfs|sssp|kcore|khop``: graphs, two iterations a pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import real, whole
from ...common.files import ARRAY_NAMES, check_installed
from ...common.first_lines import check_graph_file
from ...common.units.sida import SidaOptions, choose_sida
from ..options import IterationOptions

__all__ = ["bfs", "kcore", "khop", "pagerank", "sssp"]

GraphArgument = Annotated[
    Path, typer.Argument(metavar="GRAPH", help=f"Adjacency matrix, {ARRAY_NAMES}.")
]
SourceOption = Annotated[
    int,
    typer.Option(
        parser=whole("--source", 1), metavar="V", help="The source vertex, counted from 1."
    ),
]

_RANK_ITERATIONS = 1000
"""Iterations of PageRank unless the user gives a number."""


def pagerank(
    graph: GraphArgument,
    alpha: Annotated[
        float,
        typer.Option(parser=real("--alpha", 0, 1), metavar="A",
                     help="Damping factor: the share of a rank that follows edges."),
    ] = 0.85,
    tolerance: Annotated[
        float | None,
        typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                     help="Stop when the ranks, whose sum is 1, change by less than T in the "
                          "1-norm; default: 1e-6, or 16 roundings of `value` if that is more."),
    ] = None,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Compute the PageRank of every vertex of a weighted graph, to convergence.

    The rank of a vertex without outgoing edges is spread evenly. The ranks are compared with those
    of NetworkX, iterated further: the difference must be within what the last change and the
    roundings of all iterations explain.
    """
    choice = choose_sida(options, "pagerank", "mma", output=how.output, floats=True)
    check_installed("networkx", "NetworkX")
    check_graph_file(graph, choice.check_vertices)
    from numpy import add

    from ..inputs import check_not_negative, graph_of

    given = graph_of(choice, graph, add)
    choice = choice.sized(given.vertices, "vertices")
    check_not_negative(given)
    from ..graph_values import rank_vertices

    most = how.max_iterations or _RANK_ITERATIONS
    limit = choice.tolerance if tolerance is None else tolerance
    rank_vertices(choice, given, most, alpha=alpha, tolerance=limit)


def bfs(
    graph: GraphArgument, source: SourceOption = 1, *, how: IterationOptions, options: SidaOptions
) -> None:
    """Compute the distance of every vertex from a source, in edges (breadth-first search); -1 if
    unreachable.

    The values are checked against SciPy.
    """
    _steps("bfs", graph, source, None, how, options)


def khop(
    graph: GraphArgument,
    hops: Annotated[
        int,
        typer.Option(
            parser=whole("--hops", 1, 1_000_000), metavar="K", help="Largest number of edges."
        ),
    ] = 2,
    source: SourceOption = 1,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:
    """Find the vertices within K edges of a source, with their distances: -1 elsewhere.

    The values are checked against SciPy.
    """
    if how.max_iterations is not None:
        raise UserError("--max-iterations and khop exclude each other: --hops says how many")
    _steps("khop", graph, source, hops, how, options)


def sssp(
    graph: GraphArgument, source: SourceOption = 1, *, how: IterationOptions, options: SidaOptions
) -> None:
    """Compute the lengths of shortest paths from a source (Bellman-Ford); infinite if unreachable.

    Weights must not be negative. The values are checked against SciPy.
    """
    choice = choose_sida(options, "sssp", "minplus", output=how.output, floats=False)
    check_graph_file(graph, choice.check_vertices)
    from numpy import minimum

    from ..inputs import check_not_negative, check_source, graph_of

    given = graph_of(choice, graph, minimum)
    choice = choice.sized(given.vertices, "vertices")
    check_not_negative(given)
    check_source(given, source)
    from ..graph_values import lengths_from

    lengths_from(choice, given, source, how.max_iterations or given.vertices + 1)


def kcore(graph: GraphArgument, *, how: IterationOptions, options: SidaOptions) -> None:
    """Compute the core number of every vertex; directions, weights and loops are ignored.

    The values are checked against NetworkX.
    """
    choice = choose_sida(options, "kcore", "mma", output=how.output, floats=False)
    check_installed("networkx", "NetworkX")
    check_graph_file(graph, choice.check_vertices)
    from numpy import maximum

    from ..inputs import graph_of

    given = graph_of(choice, graph, maximum)
    choice = choice.sized(given.vertices, "vertices")
    from ..graph_values import peel_cores

    peel_cores(choice, given, how.max_iterations or 2 * given.vertices + 2)


def _steps(
    app: str, path: Path, source: int, hops: int | None, how: IterationOptions, options: SidaOptions
) -> None:
    """Breadth-first search, to the end or so many hops far."""
    choice = choose_sida(options, app, "orand", output=how.output, floats=False)
    check_graph_file(path, choice.check_vertices)
    from numpy import maximum

    from ..inputs import check_source, graph_of

    given = graph_of(choice, path, maximum)
    choice = choice.sized(given.vertices, "vertices")
    check_source(given, source)
    from ..graph_values import search

    most = hops or how.max_iterations or given.vertices + 1
    search(app, choice, given, source, most, hops=hops)
