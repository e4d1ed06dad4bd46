"""Computations of which passes at the paper's size are timed, and what a part of each does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...hw.spec.sida import SidaConfig
    from ...sim.sida.cycles.steady import SteadyPass
    from ...sim.sida.iterations.jobs import Found, Job, Machine, Setup
    from ...sim.sida.iterations.problem import Problem
    from ...sim.timing.dram import MemoryModel

__all__ = ["APART", "Timed", "problems", "timed"]

APART = ("cg", "bicgstab")
"""Computations without two products a pass, which means leave out."""

_SMALL = 200
"""Vertices of the graph on which the jobs of a sequence are found."""
_RESTART = 10
_COLUMNS = (16, 16, 8)
"""Columns of the inputs of a network's layers, and of the last one's output."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A part of a computation on a matrix.

    Parameters
    ----------
    size, elements: of the matrix
    passes: over it
    time: on an accelerator with a memory
    """

    size: int
    elements: int
    passes: int
    time: Callable[[SidaConfig, MemoryModel], SteadyPass]


def timed(graph: csr_array) -> dict[str, Callable[[], Timed]]:
    """A pass between others, and of sequences of jobs an iteration (cg, bicgstab), a cycle and its
    residual (gmres), or all (gcn). khop is bfs, with another end."""
    parts: dict[str, Callable[[], Timed]] = {
        name: partial(_pass, make) for name, make in problems(graph).items()
    }
    parts["kmeanspp"] = partial(_pass, partial(_seeding, graph))
    return parts | {name: partial(_sequence, begin, graph) for name, begin in _SEQUENCES.items()}


def problems(graph: csr_array) -> dict[str, Callable[[], Problem]]:
    """Returns problems with two products a pass; a pass's time does not depend on its start."""
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.iterations.graphs import coreness, pagerank, reach, shortest_paths, undirected
    from ...sim.sida.iterations.linear import labels
    from ...sim.sida.result.products import Rules

    rules = Rules(fmt=FORMATS["fp32"])
    return {
        "pagerank": lambda: pagerank(rules, graph),
        "bfs": lambda: reach(rules, graph, [0]),
        "sssp": lambda: shortest_paths(rules, graph, 0),
        "kcore": lambda: coreness(rules, undirected(graph)),
        "label": lambda: labels(rules, undirected(graph), [0, 1], tolerance=1e-6),
    }


def _seeding(graph: csr_array) -> Problem:
    """Points that have a vertex' edges as coordinates."""
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.iterations.seeding import seeding
    from ...sim.sida.result.products import Rules

    return seeding(Rules(fmt=FORMATS["fp32"]), graph)


def _pass(make: Callable[[], Problem]) -> Timed:
    from ...sim.sida.cycles.steady import steady_pass

    problem = make()
    return Timed(
        size=problem.matrix.size,
        elements=len(problem.matrix.rows),
        passes=1,
        time=lambda config, memory: steady_pass(config, problem, memory=memory),
    )


def _sequence(begin: Callable[[csr_array], _Begun], graph: csr_array) -> Timed:
    from ...sim.sida.cycles.steady import steady_jobs

    setup, jobs = begin(graph).setup, _recorded(begin)
    matrix = next(iter(setup.matrices.values()))
    return Timed(
        size=setup.size,
        elements=len(matrix.rows),
        passes=sum(job.matrix is not None for job in jobs),
        time=lambda config, memory: steady_jobs(config, setup, jobs, memory=memory),
    )


@dataclass(frozen=True, kw_only=True)
class _Begun:
    """Initial memory contents and the host's program."""

    setup: Setup
    host: Callable[[Machine], Found]


def _recorded(begin: Callable[[csr_array], _Begun]) -> list[Job]:
    """The jobs of a part of the computation on a small matrix: which these are does not depend on
    the matrix."""
    import numpy as np
    from scipy.sparse import csr_array, random_array

    from ...sim.sida.iterations.jobs import ModelMachine

    jobs: list[Job] = []

    class Recorder(ModelMachine):
        def run(self, job: Job) -> None:
            jobs.append(job)
            super().run(job)

    rng = np.random.default_rng(1)
    begun = begin(csr_array(random_array((_SMALL, _SMALL), density=0.02, rng=rng)))
    begun.host(Recorder(_rules(), begun.setup))
    return jobs


def _rules() -> Any:
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.result.products import Rules

    return Rules(fmt=FORMATS["fp32"])


def _system(graph: csr_array, *, symmetric: bool) -> csr_array:
    """Returns a matrix that can be solved: its diagonal outweighs the rest."""
    from scipy.sparse import csr_array, diags_array

    from ...sim.sida.iterations.graphs import undirected

    matrix = undirected(graph) if symmetric else csr_array(graph)
    return csr_array(matrix + diags_array(1 + abs(matrix).sum(axis=1)))


def _ones(graph: csr_array) -> Any:
    import numpy as np

    return np.ones(graph.shape[0])


_NEVER = 1e-30
"""A tolerance that nothing meets."""


def _cg(graph: csr_array) -> _Begun:
    from ...sim.sida.iterations.conjugate import conjugate_gradients

    matrix = _system(graph, symmetric=True)
    method = conjugate_gradients(_rules(), matrix, _ones(graph), tolerance=_NEVER)
    return _Begun(setup=method.setup, host=lambda machine: method.solve(machine, 1))


def _bicgstab(graph: csr_array) -> _Begun:
    from ...sim.sida.iterations.biconjugate import biconjugate_gradients

    matrix = _system(graph, symmetric=False)
    method = biconjugate_gradients(_rules(), matrix, _ones(graph), tolerance=_NEVER)
    return _Begun(setup=method.setup, host=lambda machine: method.solve(machine, 1))


def _gmres(graph: csr_array) -> _Begun:
    from ...sim.sida.iterations.minimal_residuals import minimal_residuals

    matrix = _system(graph, symmetric=False)
    method = minimal_residuals(_rules(), matrix, _ones(graph), tolerance=_NEVER, restart=_RESTART)
    return _Begun(setup=method.setup, host=lambda machine: method.solve(machine, _RESTART))


def _gcn(graph: csr_array) -> _Begun:
    import numpy as np

    from ...sim.sida.iterations.convolutions import convolutions

    rng = np.random.default_rng(1)
    network = convolutions(
        _rules(),
        graph,
        rng.standard_normal((graph.shape[0], _COLUMNS[0])),
        [rng.standard_normal(shape) for shape in pairwise(_COLUMNS)],
    )
    return _Begun(setup=network.setup, host=network.compute)


_SEQUENCES: Mapping[str, Callable[[csr_array], _Begun]] = {
    "gcn": _gcn,
    "gmres": _gmres,
    "cg": _cg,
    "bicgstab": _bicgstab,
}
