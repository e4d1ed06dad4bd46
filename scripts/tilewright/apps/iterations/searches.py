"""How far vertices are from a source: in edges, and along weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sim.sida.iterations.graphs import levels, reach, shortest_paths
from ...sim.sida.result.products import Rules
from ..common.rounding import round_to, warn_rounding
from ..graphs.graph import Graph
from .application import Application, finish, numbers_of
from .inputs import source_of
from .options import SidaChoice
from .session import run_problem
from .verdict import against_hops, against_lengths

__all__ = ["lengths_from", "search"]


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
