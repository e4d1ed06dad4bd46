"""The PageRank of every vertex, two iterations a pass."""

from __future__ import annotations

import numpy as np

from ...errors import user_errors
from ...hw.spec.formats import FloatFormat
from ...sim.sida.iterations.graphs import pagerank
from ...sim.sida.result.products import Rules
from ..common.rounding import say
from ..graphs.graph import Graph
from .application import Application, finish, numbers_of, residual_in
from .inputs import source_of
from .options import SidaChoice
from .session import run_problem
from .verdict import against_ranks

__all__ = ["rank_vertices"]

_SHOWN = 5


def rank_vertices(
    choice: SidaChoice, given: Graph, most: int, *, alpha: float, tolerance: float
) -> None:
    """Rank them in at most so many iterations, and report."""
    with user_errors(ValueError, about=given.name):
        problem = pagerank(Rules.of(choice.config), given.sparse(), alpha=alpha,
                                tolerance=tolerance)  # fmt: skip
    fmt = choice.config.format
    assert isinstance(fmt, FloatFormat)
    if given.vertices * 2.0**fmt.emin > 1:
        say(f"{given.name}: ranks around 1/{given.vertices} are below the normal numbers of "
            f"{fmt.name}, {2.0**fmt.emin:.3g} and more; --set value=fp32 holds them")  # fmt: skip
    run = run_problem(choice, problem, most)
    ranks = numbers_of(choice, run.solution)
    moves = "the ranks' last change, in the 1-norm,"
    change = residual_in(choice, problem, run.solution, moves).value
    verdict = None
    rows = []
    if not run.solution.settled and change < choice.tolerance:
        wider = " or --set value=fp64" if fmt.name != "fp64" else ""
        text = (
            f"roundings of {fmt.name} may change as much in every iteration: "
            f"--tolerance {choice.tolerance:.3g}{wider}"
        )
        rows.append(("tolerance", text))
    if run.solution.settled:
        verdict = against_ranks(
            Rules.of(choice.config), ranks, given.sparse(), alpha=alpha, tolerance=tolerance,
            iterations=run.solution.iterations,
            change=change,
        )  # fmt: skip
    order = np.lexsort((np.arange(len(ranks)), -ranks))[:_SHOWN]
    shown = ", ".join(f"{vertex + 1}: {ranks[vertex]:.6g}" for vertex in order)
    finish(
        Application(
            app="pagerank", what="PageRank", choice=choice, source=source_of(given), problem=problem
        ),
        run,
        ranks,
        [("ranks", f"highest at {shown}; {ranks.sum():.9g} in all"), *rows],
        {"alpha": alpha, "tolerance": tolerance, "sum": float(ranks.sum())},
        verdict,
        moves=moves,
    )
