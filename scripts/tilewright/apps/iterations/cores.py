"""The core number of every vertex, two iterations a pass."""

from __future__ import annotations

import numpy as np

from ...sim.sida.iterations.graphs import core_numbers, coreness, undirected
from ...sim.sida.result.products import Rules
from ..graphs.graph import Graph
from .application import Application, finish
from .inputs import source_of
from .options import SidaChoice
from .session import run_problem
from .verdict import against_cores

__all__ = ["peel_cores"]


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
