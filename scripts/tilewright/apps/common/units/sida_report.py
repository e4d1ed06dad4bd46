"""Reports a run on SIDA: its results, beside references and ideal accelerators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ....sim.sida.held import Held, held
from ....sim.sida.iterations.jobs import Setup
from ....sim.sida.iterations.problem import Problem
from ....sim.sida.references import Demand, Machine, Spent, demand_of_job, fused, ideal, oracle
from ....sim.sida.result.products import Columns
from ..limits import counted
from ..report import Report, Rows, accelerator_figures, checks, finite
from ..session import Tally
from .sida import SidaChoice
from .sida_runs import SequenceRun, SidaRun

__all__ = ["Outcome", "Residual", "Verdict", "iteration_report", "outcome_of_jobs",
           "outcome_of_problem"]  # fmt: skip

_STREAMS = ("pointers", "rows", "values", "again", "vectors", "program")
"""Streams that are read, by the names of their counters."""


@dataclass(frozen=True, kw_only=True)
class Residual:
    """Residual after the last iteration, by which the computation ends.

    Parameters
    ----------
    what: in words
    value, limit: it ends when the value is below
    """

    what: str
    value: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a run.

    Parameters
    ----------
    matrix: what it went over, with products of ``semiring``
    waits: of its elements; of the matrix of which most wait, if jobs go over several; None: there
        is no second product
    iterations, wasted: that count, and that do not
    passes: over the matrix, in so many ``jobs``
    settled: whether it has converged
    counts: of all jobs
    limits: what ideal accelerators would take
    tally: what was compared with the model, and how long the accelerator took
    """

    matrix: Columns
    waits: Held | None
    semiring: str
    iterations: int
    wasted: int
    passes: int
    jobs: int
    settled: bool
    counts: Mapping[str, int]
    limits: Mapping[str, Spent]
    tally: Tally


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Values beside a reference.

    Parameters
    ----------
    source: the library's function
    measure: of what ``error`` is
    error: found; ``allowed``: what it may be
    wrong: values that differ by more, or 1 if the measure is of all together
    """

    source: str
    measure: str
    error: float
    allowed: float
    wrong: int

    def in_words(self) -> str:
        """A line of a report."""
        if self.wrong:
            return (
                f"{self.source}: DIFFERENT: {self.measure} {self.error:.3g}, "
                f"{self.allowed:.3g} allowed"
            )
        if not self.error:
            return f"{self.source}: every value equal"
        return f"{self.source}: {self.measure} {self.error:.2e}, {self.allowed:.2e} allowed"


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
        tally=run.tally,
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
        tally=run.tally,
    )


def _waits(choice: SidaChoice, matrix: Columns, *, transposed: bool = False) -> Held:
    # With the transpose an element waits for z of its column.
    waits_for = matrix.columns if transposed else matrix.rows
    return held(waits_for, matrix.columns, matrix.size, choice.config.subtensor)


def _machine(choice: SidaChoice) -> Machine:
    """Returns a reference with the accelerator's memory and lanes."""
    config = choice.config
    width = config.channels * config.geometry.beat_bytes
    return Machine(bytes_a_cycle=width, lanes=config.pes)


def iteration_report(
    app: str,
    title: str,
    rows: Rows,
    choice: SidaChoice,
    outcome: Outcome,
    details: dict[str, Any],
    *,
    verdict: Verdict | None,
    residual: Residual | None,
    steps: str = "iterations",
) -> Report:
    """The report of a run, wrong if the computation has not converged, too.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    details: what the application adds to the JSON
    verdict: None: nothing to compare with, since it has not converged
    residual: None: the computation need not converge
    steps: what its iterations are called
    """
    matrix = outcome.matrix
    failed = residual is not None and not outcome.settled
    waits = outcome.waits
    passes = counted(outcome.passes, "pass", "passes")
    jobs = f", {outcome.jobs:,} jobs" if outcome.jobs > 1 else ""
    wasted = f"; {outcome.wasted} more wasted" if outcome.wasted else ""
    every = [*rows, (steps, f"{outcome.iterations:,} in {passes}{jobs}{wasted}")]
    if residual is not None:
        ends = "NOT CONVERGED: " if failed else ""
        limit = f"below {residual.limit:.4g}" if residual.limit else "at 0"
        found = f"{residual.what} {residual.value:.4g}"
        every.append(("residual", f"{ends}{found}; it ends {limit}"))
    every.append(("reference", verdict.in_words() if verdict else "not compared"))
    every += _unit_rows(choice, outcome, waits.peak if waits else 0)
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **details, "elements": len(matrix.rows), "iterations": outcome.iterations,
            "passes": outcome.passes, "jobs": outcome.jobs, "wasted": outcome.wasted,
            "settled": outcome.settled,
            "residual": None if residual is None else {
                "what": residual.what, "value": finite(residual.value), "limit": residual.limit,
            },
            "reference": None if verdict is None else {
                "source": verdict.source, "measure": verdict.measure,
                "error": finite(verdict.error), "allowed": verdict.allowed,
                "wrong": verdict.wrong,
            },
            "held": waits and {"most": waits.peak, "mean": waits.mean},
            "limits": {name: {"bytes": spent.bytes, "cycles": spent.cycles}
                       for name, spent in outcome.limits.items()},
            **accelerator_figures(choice, {}, sizes={
                one.name: {"value": one.value, "for": one.why} for one in choice.sizes
            }),
            **choice.timing, **choice.clock_figures(outcome.counts.get("cycles")),
            "counters": dict(outcome.counts), **checks(outcome.tally),
            "seconds": outcome.tally.seconds,
        },
        rows=every,
        tally=outcome.tally,
        compared="values and counters" if choice.backend == "rtl" else "",
        wrong=failed or (verdict is not None and bool(verdict.wrong)),
    )  # fmt: skip


def _unit_rows(choice: SidaChoice, outcome: Outcome, waits: int) -> Rows:
    config, counts = choice.config, outcome.counts
    size, elements = outcome.matrix.size, len(outcome.matrix.rows)
    late = int(outcome.matrix.late(config.subtensor).sum())
    stored = 2 * (size + 1) * 4 + (elements + late) * (4 + config.format.bits // 8)
    rows = [
        ("unit", f"{choice.unit.name}, {config.pes} elements a cycle, steps of {config.subtensor} "
                 f"columns; {config.channels} channels of {config.data_bits} bits"),
        *(one.row for one in choice.sizes),
        ("operation", f"{outcome.semiring} in {config.value}, {choice.ran_on}"),
        ("in memory", f"{elements:,} elements by columns, {late:,} late ones by rows; "
                      f"{stored:,} bytes"),
        ("elements", f"{counts['elements']:,} read, {counts['operations']:,} operations"),
        ("waiting", f"{waits:,} elements at most, capacity {config.buffer_words:,}"),
    ]  # fmt: skip
    if counts["cycles"]:
        rows += _timed_rows(choice, outcome)
    written = f"{counts['bytes_written']:,}"
    if choice.config.windowed and counts["cycles"]:
        written += f": windows {counts['bytes_windows_written']:,}"
    rows.append(("bytes written", written))
    return rows


def _timed_rows(choice: SidaChoice, outcome: Outcome) -> Rows:
    counts, cycles = outcome.counts, outcome.counts["cycles"]
    parts = [f"{name} {counts[f'bytes_{name}']:,}" for name in _STREAMS]
    if choice.config.windowed:
        parts.append(f"windows {counts['bytes_windows_read']:,}")
    streams = ", ".join(parts)
    over = ", ".join(
        f"{name} {spent.cycles:,.0f} ({spent.cycles / cycles:.2f} x)"
        for name, spent in outcome.limits.items()
    )
    timed = []
    if choice.backend == "cycles":
        seconds = cycles / choice.gigahertz * 1e-9
        moved = (counts["bytes_read"] + counts["bytes_written"]) / seconds
        timed = [("rates", f"at {choice.gigahertz:g} GHz on {choice.memory.name}: "
                           f"{counts['operations'] / seconds * 1e-9:,.4g} GOP/s, "
                           f"{moved * 1e-9:,.4g} GB/s")]  # fmt: skip
    return [
        *choice.clock_rows(cycles),
        *timed,
        ("cycles", f"{cycles:,}; {counts['busy_cycles']:,} with elements for the first product, "
                   f"{counts['stalls']:,} without between the first and the last"),
        ("bytes read", f"{counts['bytes_read']:,}: {streams}"),
        ("resident", f"{counts['held']:,} elements on chip at most; {counts['lost']:,} panels of "
                     "rows evicted and refetched"),
        ("limits", f"cycles of ideal accelerators: {over}"),
    ]  # fmt: skip
