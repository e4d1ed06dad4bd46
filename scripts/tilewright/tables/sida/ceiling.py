"""Bounds the speedup of the OEI dataflow, computation by computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...sim.sida.iterations.problem import Problem
    from ...sim.sida.result.products import Rules

__all__ = ["VERTICES", "sida_ceiling"]

VERTICES = 1 << 12
"""Vertices of generated graphs."""
_SEED = 13
_MOST = 1000
_BYTES_A_CYCLE, _LANES = 512, 1024
"""The paper's machine, at 1 GHz."""


def sida_ceiling(
    target: str, progress: Callable[[str], None] = lambda said: None, *, vertices: int = VERTICES
) -> Table:
    """Generated graphs in fp32: iterations, and the times of an ideal accelerator without reuse
    between operators, and of one that fuses element-wise work with products, over that of the OEI
    dataflow with a buffer without limits. All three are at the roofline of the paper's machine.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    if target != "cmos":
        raise UserError(f"sida-ceiling is computed by a model: no --target, not {target!r}")
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.iterations.problem import solve
    from ...sim.sida.references import Demand, Machine, fused, ideal, oracle
    from ...sim.sida.result.products import Rules
    from ..generated_matrices import GRAPHS

    rules = Rules(fmt=FORMATS["fp32"])
    machine = Machine(bytes_a_cycle=_BYTES_A_CYCLE, lanes=_LANES)
    rows = []
    for kind, generate in GRAPHS.items():
        graph = generate(vertices, _SEED)
        for name, problem in _problems(rules, graph).items():
            progress(f"{name} of {kind}")
            found = solve(rules, problem, _MOST)
            demand = Demand(
                size=graph.shape[0],
                elements=len(problem.matrix.rows),
                iterations=found.iterations,
                program=problem.program,
            )
            best = oracle(machine, demand).cycles
            ours = [
                found.iterations,
                ideal(machine, demand).cycles / best,
                fused(machine, demand).cycles / best,
            ]
            rows.append(Row(f"{name}, {kind}", [None] * 3, ours, (0, 2, 2)))
    columns = ["iterations", "over ideal", "over fused"]
    return Table("sida-ceiling, what OEI can win at most", "model", columns, rows)


def _problems(rules: Rules, graph: csr_array) -> dict[str, Problem]:
    """Returns the problems on a graph; searches begin at the vertex that has most edges."""
    import numpy as np

    from ...sim.sida.iterations.graphs import (
        coreness,
        pagerank,
        reach,
        shortest_paths,
        undirected,
    )

    hub = int(np.diff(graph.indptr).argmax())
    return {
        "pagerank": pagerank(rules, graph),
        "bfs": reach(rules, graph, [hub]),
        "sssp": shortest_paths(rules, graph, hub),
        "kcore": coreness(rules, undirected(graph)),
    }
