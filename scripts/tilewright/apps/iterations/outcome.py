"""What runs did, with what ideal accelerators would take for the same."""

from __future__ import annotations

from collections.abc import Callable

from ...sim.sida.iterations.jobs import Setup
from ...sim.sida.iterations.problem import Problem
from ...sim.sida.references import Demand, Machine, Spent, fused, ideal, oracle
from .options import SidaChoice
from .report import Outcome
from .sequence_session import SequenceRun
from .session import SidaRun

__all__ = ["outcome_of_jobs", "outcome_of_problem"]

_REFERENCES: dict[str, Callable[[Machine, Demand], Spent]] = {
    "ideal": ideal,
    "fused": fused,
    "oracle": oracle,
}


def outcome_of_problem(choice: SidaChoice, problem: Problem, run: SidaRun) -> Outcome:
    """Pass after pass."""
    solution = run.solution
    demand = Demand(
        size=problem.matrix.size,
        elements=len(problem.matrix.rows),
        iterations=solution.iterations,
        program=problem.program,
        value_bytes=choice.config.format.bits // 8,
    )
    machine = _machine(choice)
    return Outcome(
        matrix=problem.matrix,
        # With the transpose an element waits for z of its column.
        waits_for=problem.matrix.columns if problem.transposed else problem.matrix.rows,
        semiring=problem.semiring.name,
        iterations=solution.iterations,
        wasted=solution.wasted,
        passes=solution.passes,
        jobs=run.jobs,
        settled=solution.settled,
        counts=run.counts,
        limits={name: reference(machine, demand) for name, reference in _REFERENCES.items()},
        checked=run.checked,
        mismatches=run.mismatches,
        seconds=run.seconds,
    )


def outcome_of_jobs(choice: SidaChoice, setup: Setup, run: SequenceRun) -> Outcome:
    """Job after job. What each takes is added up."""
    machine = _machine(choice)
    limits = dict.fromkeys(_REFERENCES, Spent(bytes=0, cycles=0.0))
    for job in run.jobs:
        demand = Demand(
            size=setup.size,
            elements=0 if job.matrix is None else len(setup.matrices[job.matrix].rows),
            iterations=1 + job.second,
            program=setup.programs[job.program],
            value_bytes=choice.config.format.bits // 8,
        )
        for name, reference in _REFERENCES.items():
            limits[name] += reference(machine, demand)
    found, matrix = run.found, next(iter(setup.matrices.values()))
    twice = any(job.second and job.matrix is not None for job in run.jobs)
    return Outcome(
        matrix=matrix,
        waits_for=matrix.rows if twice else None,
        semiring="mma",
        iterations=found.iterations,
        wasted=found.wasted,
        passes=run.passes,
        jobs=len(run.jobs),
        settled=found.settled,
        counts=run.counts,
        limits=limits,
        checked=run.checked,
        mismatches=run.mismatches,
        seconds=run.seconds,
    )


def _machine(choice: SidaChoice) -> Machine:
    """One with the memory and the lanes of the accelerator."""
    config = choice.config
    width = config.channels * config.geometry.beat_bytes
    return Machine(bytes_a_cycle=width, lanes=config.pes)
