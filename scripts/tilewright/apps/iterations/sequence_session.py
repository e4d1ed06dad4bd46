"""A sequence of jobs on the chosen accelerator, and beside its RTL on the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...sim.numbers.values import Patterns, decode
from ...sim.sida.iterations.jobs import Found, Job, Machine, Method, Setup
from ...sim.sida.model import timeless
from ...sim.sida.sequence_driver import SequenceDriver, sum_of
from .options import SidaChoice
from .session import check_elements, on_backend

__all__ = ["SequenceRun", "run_jobs", "run_method"]


@dataclass(frozen=True, kw_only=True)
class SequenceRun:
    """What a run gave.

    Parameters
    ----------
    found: what it came to
    values: (size,) of each vector, by name
    jobs: what was run
    each: the counters of each job
    counts: of all jobs
    checked, mismatches: values, scalars and counters compared with the model, and those that differ
    seconds: of the accelerator
    """

    found: Found
    values: Mapping[str, Any]
    jobs: tuple[Job, ...]
    each: tuple[Mapping[str, int], ...]
    counts: Mapping[str, int]
    checked: int
    mismatches: int
    seconds: float

    @property
    def passes(self) -> int:
        """Over matrices."""
        return sum(job.matrix is not None for job in self.jobs)


@dataclass(frozen=True)
class _Done:
    found: Found
    jobs: tuple[Job, ...]
    counts: list[dict[str, int]]
    state: dict[str, Patterns]


def run_method(choice: SidaChoice, method: Method, most: int) -> SequenceRun:
    """Run a computation for at most so many iterations. Raises UserError as :func:`run_jobs`."""
    return run_jobs(choice, method.setup, lambda machine: method.solve(machine, most))


def run_jobs(choice: SidaChoice, setup: Setup, host: Callable[[Machine], Found]) -> SequenceRun:
    """Run what a host does on a machine.

    Raises UserError if it does not fit the accelerator, is too large for the backend, or the RTL
    cannot be built.
    """
    largest = max(len(matrix.rows) for matrix in setup.matrices.values())
    check_elements(choice, largest, 1)

    def work(device: Any) -> _Done:
        driver = SequenceDriver(device, setup)
        found = host(driver)
        jobs = tuple(job for job, _ in driver.jobs)
        return _Done(found, jobs, [counts for _, counts in driver.jobs], driver.state())

    def check(done: _Done) -> None:
        passes = sum(job.matrix is not None for job in done.jobs)
        check_elements(choice, sum(counts["elements"] for counts in done.counts), passes)

    ran = on_backend(choice, work, check)
    checked, mismatches = (0, 0) if ran.model is None else _differences(ran.done, ran.model)
    fmt = choice.config.format
    return SequenceRun(
        found=ran.done.found,
        values={
            name.partition(" ")[2]: decode(values[:, 0], fmt)
            for name, values in ran.done.state.items()
            if name.startswith("vector ")
        },
        jobs=ran.done.jobs,
        each=tuple(ran.done.counts),
        counts=sum_of(ran.done.counts),
        checked=checked,
        mismatches=mismatches,
        seconds=ran.seconds,
    )


def _differences(ours: _Done, model: _Done) -> tuple[int, int]:
    """What was compared, and what of it differs."""
    names = ("iterations", "settled", "wasted")
    pairs: list[tuple[object, object]] = [
        (getattr(ours.found, name), getattr(model.found, name)) for name in names
    ]
    pairs.append((ours.jobs, model.jobs))
    ours_in_all, model_in_all = sum_of(ours.counts), sum_of(model.counts)
    counts = timeless(ours_in_all)
    pairs += [(counts[name], count) for name, count in timeless(model_in_all).items()]
    wrong = sum(one != other for one, other in pairs)
    checked = len(pairs)
    for name, values in model.state.items():
        checked += values.size
        wrong += int(np.count_nonzero(ours.state[name] != values))
    return checked, wrong
