"""What the best paths between all pairs of vertices take on the tile engine, without values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...hw.spec.host.activity import activity
from ..dense.report import finish
from ..dense.unit_choice import UnitChoice
from ..engine.timed import timed_products
from .closure import Notation, worst_case
from .graph import Graph
from .hops import fewest_hops, settling
from .options import GraphOptions
from .problems import Problem

__all__ = ["time_paths"]


def time_paths(problem: Problem, graph: Graph, choice: UnitChoice, how: GraphOptions) -> None:
    """Report the iterations of a graph's closure and what they take on a choice's engine.

    Iterations are those of the run with values: with the convergence check they follow from the
    edges that best paths need. Raises UserError where they cannot be foreseen.
    """
    assert choice.engine
    size = graph.vertices
    iterations, settled, hops = worst_case(how.algorithm, size), None, None
    ending = "not checked"
    if how.convergence_check:
        with activity("iterations, from the graph"):
            hops = fewest_hops(Notation(problem, choice.numbers), graph).most
        iterations, settled = settling(how.algorithm, hops, size)
        ending = "nothing changes in the last" if settled else "the worst case"
        ending += f": best paths need up to {hops:,} edges"
    tally = timed_products(
        choice.engine, choice.mode, (size, size, size), use_c=True, times=iterations
    )
    rows = [
        ("graph", f"{size:,} vertices, {graph.edges:,} edges"),
        ("algorithm", f"{how.algorithm}, {iterations:,} iterations ({ending})"),
        ("values", "not computed: time does not depend on them"),
    ]
    details: dict[str, Any] = {
        "graph": graph.name,
        "vertices": size,
        "edges": graph.edges,
        "algorithm": how.algorithm,
        "convergence_check": how.convergence_check,
        "iterations": iterations,
        "settled": settled,
        "hops": hops,
    }
    title = f"{problem.title} of {Path(graph.name).name}"
    finish(problem.name, title, rows, choice, tally, {}, details)
