"""Problems and sequences of jobs on SIDA, and beside its RTL on the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ....errors import UserError
from ....hw.spec.host.activity import activity
from ....sim.numbers.values import Patterns, decode
from ....sim.sida.driver import SidaDriver
from ....sim.sida.iterations.jobs import Found, Job, Machine, Method, Setup
from ....sim.sida.iterations.problem import Problem, Solution
from ....sim.sida.model import timeless
from ....sim.sida.sequence_driver import SequenceDriver, StepDriver, sum_of
from ..limits import counted, other_backend
from ..session import Session, Tally
from .sida import SidaChoice

__all__ = ["MOST_ELEMENTS", "Ran", "SequenceRun", "SidaRun", "check_elements", "on_backend",
           "run_jobs", "run_method", "run_problem", "run_steps"]  # fmt: skip

MOST_ELEMENTS = {"rtl": 50_000_000, "cycles": 500_000_000, "model": 2_000_000_000}
"""Elements of all passes, by backend: some minutes; to the cycle model, of one pass."""

_MODELS = {
    "rtl": "the model",
    "cycles": "the cycle model, which its first use on a machine compiles",
    "model": "the model",
}
"""Model that runs for each backend, as the progress line names it."""

Done = TypeVar("Done")


@dataclass(frozen=True, kw_only=True)
class SidaRun:
    """Result of a run.

    Parameters
    ----------
    solution: the accelerator's
    counts: of its job, or of all of them
    jobs: how many
    tally: values, scalars and counters compared with the model; seconds of the accelerator
    """

    solution: Solution
    counts: Mapping[str, int]
    tally: Tally
    jobs: int = 1


def run_problem(choice: SidaChoice, problem: Problem, most: int) -> SidaRun:
    """Solve a problem in at most so many iterations.

    Raises UserError if it does not fit the accelerator, is too large for the backend, or the RTL
    cannot be built.
    """
    _check_size(choice, problem, 1)

    def work(device: Any) -> tuple[Solution, dict[str, int]]:
        driver = SidaDriver(device)
        solution = driver.solve(problem, most)
        [counts] = driver.jobs
        return solution, counts

    found = on_backend(choice, work, lambda done: _check_size(choice, problem, done[0].passes))
    solution, counts = found.done
    tally = Tally() if found.model is None else _differences(found.done, found.model)
    tally.seconds = found.seconds
    return SidaRun(
        solution=solution,
        counts=counts,
        tally=tally,
    )


@dataclass(frozen=True, kw_only=True)
class Ran(Generic[Done]):
    """Result of work on the chosen backend.

    Parameters
    ----------
    done: by it
    model: by the model, if the backend is the RTL
    seconds: of the accelerator
    """

    done: Done
    model: Done | None
    seconds: float


def on_backend(
    choice: SidaChoice, work: Callable[[Any], Done], check: Callable[[Done], None]
) -> Ran[Done]:
    """Work on a device, which is made with as much memory as it takes; before the RTL on the model.

    Parameters
    ----------
    work: all of it, from the device on
    check: of what the model did, before the RTL is built: raises UserError if that is too much

    Raises UserError if it does not fit the accelerator, or the RTL cannot be built.
    """

    def same(device: Any) -> Any:
        return device

    backend = "model" if choice.backend == "rtl" else choice.backend
    with (
        activity(f"computing on {_MODELS[choice.backend]}"),
        Session(choice, same, backend=backend, what="problem") as session,
    ):
        expected = session.run(work)
    if choice.backend != "rtl":
        return Ran(done=expected, model=None, seconds=session.seconds)
    check(expected)
    with Session(choice, same, what="problem") as session:
        found = session.run(work)
    return Ran(done=found, model=expected, seconds=session.seconds)


def _check_size(choice: SidaChoice, problem: Problem, passes: int) -> None:
    check_elements(choice, passes * len(problem.matrix.rows), passes)


def check_elements(choice: SidaChoice, elements: int, passes: int) -> None:
    """Raise UserError if a backend cannot take so many elements."""
    most = MOST_ELEMENTS[choice.backend]
    if elements > most:
        raise UserError(
            f"{elements:,} elements in {counted(passes, 'pass', 'passes')} are too many for the "
            f"{choice.backend} backend, which takes at most {most:,}"
            f"{other_backend(MOST_ELEMENTS, choice.backend, elements)}"
        )


def _differences(
    found: tuple[Solution, dict[str, int]], expected: tuple[Solution, dict[str, int]]
) -> Tally:
    """Compares a run with the model: the values compared, and those that differ."""
    ours, model = found[0], expected[0]
    pairs: list[tuple[object, object]] = [
        (getattr(ours, name), getattr(model, name))
        for name in ("iterations", "passes", "wasted", "settled")
    ]
    pairs += [(ours.scalars[name], pattern) for name, pattern in model.scalars.items()]
    counts = timeless(found[1])
    pairs += [(counts[name], count) for name, count in timeless(expected[1]).items()]
    tally = _of_pairs(pairs)
    arrays = [(ours.result, model.result)]
    arrays += [(ours.vectors[name], values) for name, values in model.vectors.items()]
    for one, other in arrays:
        tally.compare(one, other)
    return tally


def _of_pairs(pairs: list[tuple[object, object]]) -> Tally:
    return Tally(checked=len(pairs), mismatches=sum(one != other for one, other in pairs))


def run_steps(
    choice: SidaChoice, problem: Problem, passes: int, host: Callable[[StepDriver], Done]
) -> tuple[Done, SidaRun]:
    """Runs passes one by one, with a host between them. Returns the host's result, compared, too.

    Raises UserError as :func:`run_problem`.
    """
    _check_size(choice, problem, passes)

    def work(device: Any) -> tuple[Done, Solution, dict[str, int]]:
        driver = StepDriver(device, problem)
        found = host(driver)
        return found, driver.solution(), sum_of(driver.jobs)

    ran = on_backend(choice, work, lambda done: None)
    found, solution, counts = ran.done
    tally = Tally()
    if ran.model is not None:
        tally = _differences(ran.done[1:], ran.model[1:])
        tally.checked += 1
        tally.mismatches += found != ran.model[0]
    tally.seconds = ran.seconds
    run = SidaRun(solution=solution, counts=counts, tally=tally, jobs=solution.passes)
    return found, run


@dataclass(frozen=True, kw_only=True)
class SequenceRun:
    """Result of a run of several jobs.

    Parameters
    ----------
    found: what it came to
    values: (size,) of each vector, by name
    jobs: what was run
    each: the counters of each job
    counts: of all jobs
    tally: values, scalars and counters compared with the model; seconds of the accelerator
    """

    found: Found
    values: Mapping[str, Any]
    jobs: tuple[Job, ...]
    each: tuple[Mapping[str, int], ...]
    counts: Mapping[str, int]
    tally: Tally

    @property
    def passes(self) -> int:
        """Number of passes over matrices."""
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
    tally = Tally() if ran.model is None else _job_differences(ran.done, ran.model)
    tally.seconds = ran.seconds
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
        tally=tally,
    )


def _job_differences(ours: _Done, model: _Done) -> Tally:
    """Compares the jobs of a run with the model's: the values compared, and those that differ."""
    names = ("iterations", "settled", "wasted")
    pairs: list[tuple[object, object]] = [
        (getattr(ours.found, name), getattr(model.found, name)) for name in names
    ]
    pairs.append((ours.jobs, model.jobs))
    ours_in_all, model_in_all = sum_of(ours.counts), sum_of(model.counts)
    counts = timeless(ours_in_all)
    pairs += [(counts[name], count) for name, count in timeless(model_in_all).items()]
    tally = _of_pairs(pairs)
    for name, values in model.state.items():
        tally.compare(ours.state[name], values)
    return tally
