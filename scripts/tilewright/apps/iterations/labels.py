"""Labels that spread over a graph: means over neighbours, two iterations a pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import user_errors
from ...sim.sida.iterations.linear import labels
from ...sim.sida.result.products import Rules
from ..graphs.graph import Graph
from .application import Application, finish, numbers_of
from .inputs import source_of
from .options import SidaChoice
from .session import run_problem
from .verdict import against_means

__all__ = ["spread_labels"]


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
