"""``tilewright run pagerank|bfs|sssp|kcore|khop``: graphs, two iterations a pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...errors import UserError, user_errors
from ...numbers_given import real, whole
from ...sim.sida.iterations.graphs import (
    core_numbers,
    coreness,
    levels,
    reach,
    shortest_paths,
    undirected,
)
from ...sim.sida.iterations.graphs import (
    pagerank as ranks_problem,
)
from ...sim.sida.result.products import Rules
from ..common.extras import need
from ..common.rounding import round_to, warn_rounding
from .application import (
    Application,
    check_not_negative,
    check_source,
    finish,
    graph_of,
    numbers_of,
    source_of,
)
from .options import SidaOptions, choose_sida
from .session import run_problem
from .verdict import against_cores, against_hops, against_lengths, against_ranks

__all__ = ["bfs", "kcore", "khop", "pagerank", "sssp"]

GraphArgument = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="Adjacency matrix, .mtx or .npy.")
]
SourceOption = Annotated[
    int,
    typer.Option(parser=whole("--source", 1), metavar="V", help="Vertex, counted from 1."),
]

_RANK_ITERATIONS = 1000
"""Of PageRank, unless the user says."""
_SHOWN = 5


def pagerank(
    graph: GraphArgument,
    alpha: Annotated[
        float,
        typer.Option(parser=real("--alpha", 0, 1), metavar="A", help="Share that follows edges."),
    ] = 0.85,
    tolerance: Annotated[
        float,
        typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                     help="It ends when the ranks move by less a vertex, in the 1-norm."),
    ] = 1e-6,
    *,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Compute the PageRank of every vertex, edges weighted; what vertices without edges have is
    spread evenly.

    To convergence; values are checked against NetworkX.
    """
    choice = choose_sida(options, "pagerank", "mma", floats=True)
    need("networkx", "NetworkX")
    given = graph_of(choice, graph, np.add)
    check_not_negative(given)
    with user_errors(ValueError, about=str(graph)):
        problem = ranks_problem(Rules.of(choice.config), given.sparse(), alpha=alpha,
                                tolerance=tolerance)  # fmt: skip
    most = options.max_iterations or _RANK_ITERATIONS
    run = run_problem(choice, problem, most)
    ranks = numbers_of(choice, run.solution)
    verdict = None
    if run.solution.settled:
        verdict = against_ranks(choice.config.format, ranks, given.sparse(), alpha=alpha,
                                tolerance=tolerance, most=2 * most)  # fmt: skip
    order = np.lexsort((np.arange(len(ranks)), -ranks))[:_SHOWN]
    shown = ", ".join(f"{vertex + 1}: {ranks[vertex]:.6g}" for vertex in order)
    finish(
        Application(
            app="pagerank", what="PageRank", choice=choice, source=source_of(given), problem=problem
        ),
        run,
        ranks,
        [("ranks", f"highest at {shown}; {ranks.sum():.9g} in all")],
        {"alpha": alpha, "tolerance": tolerance, "sum": float(ranks.sum())},
        verdict,
        moves="the ranks' last change, in the 1-norm,",
    )


def bfs(graph: GraphArgument, source: SourceOption = 1, *, options: SidaOptions) -> None:
    """Compute how many edges each vertex is from a source (breadth-first search), or -1.

    Values are checked against SciPy.
    """
    _steps("bfs", graph, source, None, options)


def khop(
    graph: GraphArgument,
    hops: Annotated[
        int, typer.Option(parser=whole("--hops", 1, 1_000_000), metavar="K", help="At most.")
    ] = 2,
    source: SourceOption = 1,
    *,
    options: SidaOptions,
) -> None:
    """Find the vertices within so many edges of a source, and how many: -1 elsewhere.

    Values are checked against SciPy.
    """
    if options.max_iterations is not None:
        raise UserError("--max-iterations and khop exclude each other: --hops says how many")
    _steps("khop", graph, source, hops, options)


def sssp(graph: GraphArgument, source: SourceOption = 1, *, options: SidaOptions) -> None:
    """Compute the lengths of shortest paths from a source (Bellman-Ford), else infinite.

    Weights must not be negative. Values are checked against SciPy.
    """
    choice = choose_sida(options, "sssp", "minplus", floats=False)
    given = graph_of(choice, graph, np.minimum)
    check_not_negative(given)
    check_source(given, source)
    fmt = choice.config.format
    rounded = round_to(given.weights, fmt)
    warn_rounding(given.name, rounded, fmt)
    problem = shortest_paths(Rules.of(choice.config), given.sparse(), source - 1)
    run = run_problem(choice, problem, options.max_iterations or given.vertices + 1)
    lengths = numbers_of(choice, run.solution).astype(np.float64)
    if choice.config.value == "int32":
        lengths[lengths == np.iinfo(np.int32).max] = np.inf
    verdict = None
    if run.solution.settled:
        verdict = against_lengths(
            fmt, lengths, given.sparse(rounded.values), source - 1, run.solution.iterations
        )
    there = np.isfinite(lengths)
    finish(
        Application(
            app="sssp",
            what="shortest paths",
            choice=choice,
            source=source_of(given),
            problem=problem,
        ),
        run,
        lengths,
        [
            ("source", str(source)),
            (
                "reached",
                f"{np.count_nonzero(there):,} vertices, the farthest at {lengths[there].max():.9g}",
            ),
        ],
        {"source": source, "reached": int(np.count_nonzero(there))},
        verdict,
        moves="a path has become shorter (1), or none (0):",
    )


def kcore(graph: GraphArgument, *, options: SidaOptions) -> None:
    """Compute the core number of every vertex; directions, weights and loops do not count.

    Values are checked against NetworkX.
    """
    choice = choose_sida(options, "kcore", "mma", floats=False)
    need("networkx", "NetworkX")
    given = graph_of(choice, graph, np.maximum)
    both = undirected(given.sparse(np.ones(given.edges)))
    problem = coreness(Rules.of(choice.config), both)
    run = run_problem(choice, problem, options.max_iterations or 2 * given.vertices + 2)
    cores = core_numbers(Rules.of(choice.config), run.solution)
    verdict = against_cores(cores, both) if run.solution.settled else None
    top = int(cores.max())
    finish(
        Application(
            app="kcore",
            what="core numbers",
            choice=choice,
            source=source_of(given),
            problem=problem,
        ),
        run,
        cores,
        [("cores", f"up to {top}, of {np.count_nonzero(cores == top):,} vertices")],
        {"highest": top},
        verdict,
        moves="vertices left:",
    )


def _steps(app: str, path: Path, source: int, hops: int | None, options: SidaOptions) -> None:
    """Breadth-first search, to the end or so many hops far."""
    choice = choose_sida(options, app, "orand", floats=False)
    given = graph_of(choice, path, np.maximum)
    check_source(given, source)
    rules = Rules.of(choice.config)
    problem = reach(rules, given.sparse(np.ones(given.edges)), [source - 1])
    run = run_problem(choice, problem, hops or options.max_iterations or given.vertices + 1)
    found = levels(rules, run.solution)
    verdict = None
    if run.solution.settled or hops:
        ones = given.sparse(np.ones(given.edges))
        verdict = against_hops(found, ones, source - 1, hops)
    there = found >= 0
    details: dict[str, Any] = {"source": source, "reached": int(np.count_nonzero(there))}
    rows = [("source", str(source))]
    if hops:
        rows.append(("hops", f"{hops} at most"))
        details["hops"] = hops
    rows.append(("reached", f"{np.count_nonzero(there):,} vertices, the farthest after "
                            f"{found.max()} edges"))  # fmt: skip
    what = "breadth-first search" if hops is None else "vertices within some hops"
    finish(
        Application(app=app, what=what, choice=choice, source=source_of(given), problem=problem),
        run, found, rows, details, verdict,
        moves=None if hops else "a vertex was reached anew (1), or none (0):",
    )  # fmt: skip
