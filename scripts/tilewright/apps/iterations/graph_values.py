"""Values of the vertices of a graph: ranks, distances, core numbers, labels, by iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import user_errors
from ...hw.spec.formats import FloatFormat
from ...sim.sida.iterations.graphs import (
    core_numbers,
    coreness,
    levels,
    pagerank,
    reach,
    shortest_paths,
    undirected,
)
from ...sim.sida.iterations.linear import labels
from ...sim.sida.result.products import Rules
from ..common.graph import Graph
from ..common.rounding import round_to, say, warn_rounding
from ..common.units.sida import SidaChoice
from ..common.units.sida_runs import run_problem
from .application import (
    Application,
    against_cores,
    against_hops,
    against_lengths,
    against_means,
    against_ranks,
    finish,
    numbers_of,
    residual_in,
)
from .inputs import source_of

__all__ = ["lengths_from", "peel_cores", "rank_vertices", "search", "spread_labels"]


def spread_labels(
    choice: SidaChoice, whole: Graph, given: NDArray[np.float64], most: int, *, tolerance: float
) -> None:
    """Spread labels of the first vertices in at most so many iterations, and report."""
    with user_errors(ValueError, about=whole.name):
        problem = labels(Rules.of(choice.config), whole.sparse(), given, tolerance=tolerance)
    run = run_problem(choice, problem, most)
    values = numbers_of(choice, run.solution)
    verdict = against_means(
        Rules.of(choice.config), values, whole.sparse(), given, run.solution.iterations
    )
    counts = [int(np.count_nonzero(which)) for which in (values > 0.5, values < 0.5, values == 0.5)]
    rows = [
        ("labels", f"{len(given):,} given"),
        ("classes", f"{counts[0]:,} of label 1, {counts[1]:,} of label 0, {counts[2]:,} undecided"),
    ]
    details = {"given": len(given), "tolerance": tolerance,
               "classes": dict(zip(("one", "zero", "undecided"), counts, strict=True))}  # fmt: skip
    what = "label propagation"
    finish(
        Application(app="label", what=what, choice=choice, source=source_of(whole),
                    problem=problem),
        run, values, rows, details, verdict,
        moves="the values' last change, in the 1-norm,",
    )  # fmt: skip


def peel_cores(choice: SidaChoice, given: Graph, most: int) -> None:
    """Find them in at most so many iterations, and report."""
    both = undirected(given.sparse(np.ones(given.edges)))
    problem = coreness(Rules.of(choice.config), both)
    run = run_problem(choice, problem, most)
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


def lengths_from(choice: SidaChoice, given: Graph, source: int, most: int) -> None:
    """The lengths of shortest paths from a vertex, counted from 1, in at most so many iterations,
    and their report."""
    fmt = choice.config.format
    rounded = round_to(given.weights, fmt)
    warn_rounding(given.name, rounded, fmt)
    problem = shortest_paths(Rules.of(choice.config), given.sparse(), source - 1)
    run = run_problem(choice, problem, most)
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


def search(
    app: str, choice: SidaChoice, given: Graph, source: int, most: int, *, hops: int | None
) -> None:
    """Breadth-first search from a vertex, counted from 1, to the end or so many hops far, and its
    report."""
    rules = Rules.of(choice.config)
    problem = reach(rules, given.sparse(np.ones(given.edges)), [source - 1])
    run = run_problem(choice, problem, most)
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
