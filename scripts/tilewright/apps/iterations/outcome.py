"""What runs did, with what ideal accelerators would take for the same."""

from __future__ import annotations

from collections.abc import Callable

from ...sim.sida.held import Held, held
from ...sim.sida.iterations.jobs import Setup
from ...sim.sida.iterations.problem import Problem
from ...sim.sida.references import Demand, Machine, Spent, demand_of_job, fused, ideal, oracle
from ...sim.sida.result.products import Columns
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
        waits=_waits(choice, problem.matrix, transposed=problem.transposed),
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
        demand = demand_of_job(setup, job, choice.config.format.bits // 8)
        for name, reference in _REFERENCES.items():
            limits[name] += reference(machine, demand)
    found = run.found
    twice = {job.matrix for job in run.jobs if job.second and job.matrix is not None}
    waits = [_waits(choice, setup.matrices[name]) for name in sorted(twice)]
    return Outcome(
        matrix=next(iter(setup.matrices.values())),
        waits=max(waits, key=lambda one: one.peak, default=None),
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


def _waits(choice: SidaChoice, matrix: Columns, *, transposed: bool = False) -> Held:
    # With the transpose an element waits for z of its column.
    waits_for = matrix.columns if transposed else matrix.rows
    return held(waits_for, matrix.columns, matrix.size, choice.config.subtensor)


def _machine(choice: SidaChoice) -> Machine:
    """One with the memory and the lanes of the accelerator."""
    config = choice.config
    width = config.channels * config.geometry.beat_bytes
    return Machine(bytes_a_cycle=width, lanes=config.pes)
