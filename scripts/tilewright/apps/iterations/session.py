"""A problem on the chosen accelerator, and beside its RTL on the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ...errors import UserError
from ...hw.spec.host.activity import Stopwatch, activity
from ...hw.spec.sida import SIDA
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.sida.cycles.device import SidaCycles
from ...sim.sida.driver import SidaDriver
from ...sim.sida.iterations.problem import Problem, Solution
from ...sim.sida.model import SidaModel, timeless
from ...sim.sida.sequence_driver import sum_of
from ...sim.sida.step_driver import StepDriver
from ..common.limits import other_backend
from ..common.memory import available_memory, in_words
from ..common.native import native
from ..common.words import counted
from .options import SidaChoice

__all__ = [
    "MOST_ELEMENTS",
    "Ran",
    "SidaRun",
    "check_elements",
    "on_backend",
    "run_problem",
    "run_steps",
]

MOST_ELEMENTS = {"rtl": 50_000_000, "cycles": 500_000_000, "model": 2_000_000_000}
"""Elements of all passes, by backend: some minutes; to the cycle model, of one pass."""

_MODELS = {
    "rtl": "the model",
    "cycles": "the cycle model, which its first use on a machine compiles",
    "model": "the model",
}
"""What is told of a backend before anything else runs."""

_LATENCY = 20
"""Of the memory behind the RTL, in cycles."""

_FIRST_BYTES = 1 << 20

Done = TypeVar("Done")
Device = AbstractContextManager[Any]


@dataclass(frozen=True, kw_only=True)
class SidaRun:
    """What a run gave.

    Parameters
    ----------
    solution: the accelerator's
    counts: of its job, or of all of them
    jobs: how many
    checked, mismatches: values, scalars and counters compared with the model, and those that differ
    seconds: of the accelerator
    """

    solution: Solution
    counts: Mapping[str, int]
    checked: int
    mismatches: int
    seconds: float
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
    checked, mismatches = (0, 0) if found.model is None else _differences(found.done, found.model)
    return SidaRun(
        solution=solution,
        counts=counts,
        checked=checked,
        mismatches=mismatches,
        seconds=found.seconds,
    )


@dataclass(frozen=True, kw_only=True)
class Ran(Generic[Done]):
    """What work on the chosen backend gave.

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
    reach = 1 << choice.config.addr_bits

    def model(memory_bytes: int) -> Device:
        if choice.backend == "cycles":
            timed = SidaCycles(
                choice.config, memory_bytes, memory=choice.memory, gigahertz=choice.gigahertz
            )
            return nullcontext(timed)
        return nullcontext(SidaModel(choice.config, memory_bytes))

    with activity(f"computing on {_MODELS[choice.backend]}"):
        expected, seconds = _with_memory(model, work, reach)
    if choice.backend != "rtl":
        return Ran(done=expected, model=None, seconds=seconds)
    check(expected)
    with activity(f"building and running {choice.unit}"):
        made = native(SIDA, choice.config, _LATENCY)
        found, seconds = _with_memory(made, work, reach)
    return Ran(done=found, model=expected, seconds=seconds)


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


def _with_memory(
    make: Callable[[int], Device], work: Callable[[Any], Done], reach: int
) -> tuple[Done, float]:
    """What work gives, on a device with as much memory as it takes; seconds."""
    memory_bytes = min(_FIRST_BYTES, reach)
    while True:
        try:
            with make(memory_bytes) as device:
                watch = Stopwatch()
                return work(device), watch.seconds
        except NoRoom as lacking:
            if lacking.end > reach:
                raise UserError(str(lacking)) from None
            # A whole number of lines, whatever a line is.
            memory_bytes = min(-(-lacking.end // _FIRST_BYTES) * _FIRST_BYTES, reach)
        except ValueError as error:
            raise UserError(str(error)) from None
        except JobError as error:
            raise UserError(f"the problem cannot be solved: {error}") from None
        except MemoryError:
            raise UserError(
                f"the problem takes {in_words(memory_bytes)} of the accelerator's memory; "
                f"{in_words(available_memory())} are available"
            ) from None


def _differences(
    found: tuple[Solution, dict[str, int]], expected: tuple[Solution, dict[str, int]]
) -> tuple[int, int]:
    """What was compared, and what of it differs."""
    ours, model = found[0], expected[0]
    pairs: list[tuple[object, object]] = [
        (getattr(ours, name), getattr(model, name))
        for name in ("iterations", "passes", "wasted", "settled")
    ]
    pairs += [(ours.scalars[name], pattern) for name, pattern in model.scalars.items()]
    counts = timeless(found[1])
    pairs += [(counts[name], count) for name, count in timeless(expected[1]).items()]
    wrong = sum(one != other for one, other in pairs)
    checked = len(pairs)
    arrays = [(ours.result, model.result)]
    arrays += [(ours.vectors[name], values) for name, values in model.vectors.items()]
    for one, other in arrays:
        checked += other.size
        wrong += int(np.count_nonzero(one != other))
    return checked, wrong


def run_steps(
    choice: SidaChoice, problem: Problem, passes: int, host: Callable[[StepDriver], Done]
) -> tuple[Done, SidaRun]:
    """So many passes one by one, with a host between them. Returns what the host found, too, which
    is compared likewise.

    Raises UserError as :func:`run_problem`.
    """
    _check_size(choice, problem, passes)

    def work(device: Any) -> tuple[Done, Solution, dict[str, int]]:
        driver = StepDriver(device, problem)
        found = host(driver)
        return found, driver.solution(), sum_of(driver.jobs)

    ran = on_backend(choice, work, lambda done: None)
    found, solution, counts = ran.done
    checked = mismatches = 0
    if ran.model is not None:
        checked, mismatches = _differences(ran.done[1:], ran.model[1:])
        checked, mismatches = checked + 1, mismatches + (found != ran.model[0])
    run = SidaRun(solution=solution, counts=counts, checked=checked, mismatches=mismatches,
                  seconds=ran.seconds, jobs=solution.passes)  # fmt: skip
    return found, run
