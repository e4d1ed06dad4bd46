"""A problem on the chosen accelerator, and beside its RTL on the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from ...errors import UserError
from ...hw.spec.sida import SIDA
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.sida.driver import SidaDriver
from ...sim.sida.iterations.problem import Problem, Solution
from ...sim.sida.model import TIMELESS, SidaModel
from ..common.memory import available_memory, in_words
from ..common.native import native
from .options import SidaChoice

__all__ = ["MOST_ELEMENTS", "SidaRun", "run_problem"]

MOST_ELEMENTS = {"rtl": 50_000_000, "model": 2_000_000_000}
"""Elements of all passes, by backend: some minutes."""

_LATENCY = 20
"""Of the memory behind the RTL, in cycles."""

_FIRST_BYTES = 1 << 20

Device = AbstractContextManager[Any]


@dataclass(frozen=True, kw_only=True)
class SidaRun:
    """What a run gave.

    Parameters
    ----------
    solution: the accelerator's
    counts: of its job
    checked, mismatches: values, scalars and counters compared with the model, and those that differ
    seconds: of the accelerator
    """

    solution: Solution
    counts: Mapping[str, int]
    checked: int
    mismatches: int
    seconds: float


def run_problem(choice: SidaChoice, problem: Problem, most: int) -> SidaRun:
    """Solve a problem in at most so many iterations.

    Raises UserError if it does not fit the accelerator, is too large for the backend, or the RTL
    cannot be built.
    """
    _check_size(choice, problem, 1)

    def model(memory_bytes: int) -> Device:
        return nullcontext(SidaModel(choice.config, memory_bytes))

    expected, seconds = _solve(model, problem, most, 1 << choice.config.addr_bits)
    if choice.backend == "model":
        solution, counts = expected
        return SidaRun(solution=solution, counts=counts, checked=0, mismatches=0, seconds=seconds)
    # The model tells how many passes it will be.
    _check_size(choice, problem, expected[0].passes)
    with ExitStack() as stack:
        console = Console(stderr=True)
        if console.is_terminal:
            stack.enter_context(console.status(f"building and running {choice.unit}"))
        made = native(SIDA, choice.config, _LATENCY)
        found, seconds = _solve(made, problem, most, 1 << choice.config.addr_bits)
    checked, mismatches = _differences(found, expected)
    return SidaRun(
        solution=found[0], counts=found[1], checked=checked, mismatches=mismatches, seconds=seconds
    )


def _check_size(choice: SidaChoice, problem: Problem, passes: int) -> None:
    elements = passes * len(problem.matrix.rows)
    most = MOST_ELEMENTS[choice.backend]
    if elements > most:
        raise UserError(
            f"{elements:,} elements in {passes:,} passes are too many for the {choice.backend} "
            f"backend, which takes at most {most:,}"
        )


def _solve(
    make: Callable[[int], Device], problem: Problem, most: int, reach: int
) -> tuple[tuple[Solution, dict[str, int]], float]:
    """The solution and what was counted, on a device with as much memory as it takes; seconds."""
    memory_bytes = min(_FIRST_BYTES, reach)
    while True:
        try:
            with make(memory_bytes) as device:
                driver = SidaDriver(device)
                began = time.perf_counter()
                solution = driver.solve(problem, most)
                [counts] = driver.jobs
                return (solution, counts), time.perf_counter() - began
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
    pairs += [(found[1][name], expected[1][name]) for name in TIMELESS]
    wrong = sum(one != other for one, other in pairs)
    checked = len(pairs)
    arrays = [(ours.result, model.result)]
    arrays += [(ours.vectors[name], values) for name, values in model.vectors.items()]
    for one, other in arrays:
        checked += other.size
        wrong += int(np.count_nonzero(one != other))
    return checked, wrong
