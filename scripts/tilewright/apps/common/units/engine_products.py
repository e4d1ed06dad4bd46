"""Matrix products on the tile engine: with values, and at any size their cycles alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import CheckFailed, UserError
from ....hw.spec.host.activity import Stopwatch, activity
from ....sim.engine.cycles.machine import run_job
from ....sim.engine.cycles.report import EngineCycles
from ....sim.engine.driver import Counts, Driver
from ....sim.engine.job import Job
from ....sim.engine.products import ProductPlan, plan_product
from ....sim.timing.bound_broken import BoundBroken
from ....sim.timing.memories import FLAT
from ..session import Session
from .matrix_unit import EngineChoice
from .matrix_unit_products import EngineTally

__all__ = ["EngineProduct", "timed_products"]

Words = NDArray[np.uint64]
Progress = Callable[[int], None]


_TIMELESS = ("operations", "bytes_read", "bytes_written")
"""Counters that do not depend on the memory's times. Cycles with an operation at the unit's input
do, where an operation takes several."""


class EngineProduct:
    """A tile engine with its memory, as RTL or as its model, that multiplies matrices.

    Takes and gives what a `TiledProduct` does.

    Parameters
    ----------
    choice: the engine. "rtl" simulates the generated Verilog in front of a flat memory, and
        compares D with the model bit for bit, and the counters with those of the cycle model;
        "cycles" computes with the model, and counts by the cycle model; "model" computes with the
        model alone
    operation: one of its unit's

    `multiply` raises UserError if the RTL cannot be built or the memory is not enough, and
    CheckFailed if a job took fewer cycles than its bound.
    """

    def __init__(self, choice: EngineChoice, operation: str) -> None:
        self._choice, self._operation = choice, operation
        rtl = choice.backend == "rtl"
        backend = "cycles" if rtl else choice.backend
        self._model = Session(choice, Driver, backend=backend, whose="engine")
        self._rtl = Session(choice, Driver, whose="engine") if rtl else None
        self.tally = EngineTally()

    def multiply(
        self,
        a: Words,
        b: Words,
        c: Words | None = None,
        *,
        progress: Progress = lambda operations: None,
    ) -> Words:
        """``c (+) a (x) b`` on container words: (batch, M, K), (batch, K, N) to (batch, M, N)."""
        shape, choice = (a.shape[1], a.shape[2], b.shape[2]), self._choice
        # A memory takes time unless nothing does.
        memory = FLAT if choice.backend == "model" else choice.memory
        try:
            plan = plan_product(
                choice.config, self._operation, shape, use_c=c is not None, memory=memory
            )
        except ValueError as error:
            raise UserError(str(error)) from None
        found = []
        for n in range(len(a)):
            operands = {"a": a[n], "b": b[n]} | ({} if c is None else {"d": c[n]})
            found.append(self._one(plan, operands, progress))
        return np.stack(found)

    def close(self) -> None:
        """End the simulation."""
        if self._rtl:
            self._rtl.close()

    def _one(self, plan: ProductPlan, operands: dict[str, Words], progress: Progress) -> Words:
        work: Callable[[Driver], Any] = partial(_run, plan=plan, operands=operands)
        self._model.reserve(plan.end)
        expected, modelled = self._model.run(work)
        self.tally.seconds += self._model.seconds
        found, counted = expected, modelled
        if self._rtl:
            self._rtl.reserve(plan.end)
            found, counted = self._rtl.run(work)
            self.tally.seconds += self._rtl.seconds
            self.tally.compare(found, expected)
            self._check(counted, modelled)
        timed = self._model.device.cycles
        for one in timed:
            self.tally.take(one)
        timed.clear()
        for counts in counted:
            self.tally.add(counts)
            progress(counts.operations)
        return found

    def _check(self, counted: list[Counts], modelled: list[Counts]) -> None:
        """Count counters that are not the cycle model's, and those compared."""
        names = [item.name for item in fields(Counts)]
        if self._choice.wire is not None:
            names = [*_TIMELESS]  # the board's memory has times of its own
        for found, expected in zip(counted, modelled, strict=True):
            self.tally.counters += len(names)
            self.tally.mismatches += sum(getattr(found, n) != getattr(expected, n) for n in names)


def _run(
    driver: Driver, plan: ProductPlan, operands: dict[str, Words]
) -> tuple[Words, list[Counts]]:
    """D and the counters of each job."""
    for name, words in operands.items():
        driver.load_words(plan.matrices[name], words)
    counted = []
    for job in plan.jobs:
        driver.submit(job)
        counted.append(driver.counts)
    return driver.store_words(plan.matrices["d"]), counted


def timed_products(
    choice: EngineChoice,
    operation: str,
    shape: tuple[int, int, int],
    *,
    use_c: bool,
    times: int = 1,
    interval: int | None = None,
) -> EngineTally:
    """Predicts the time and the traffic of a product that is computed so many times.

    Time does not depend on values, but a little on which operand the one before has read last.

    Parameters
    ----------
    choice, operation: the engine, and an operation of its unit
    shape: rows of A, depth, columns of B
    use_c: whether there is a C
    interval: cycles of an operation, if not the unit's own

    Raises UserError if the product does not fit the engine's memory, CheckFailed if a job took
    fewer cycles than its bound.
    """
    watch = Stopwatch()
    try:
        plan = plan_product(choice.config, operation, shape, use_c=use_c, memory=choice.memory)
    except ValueError as error:
        raise UserError(str(error)) from None
    tally = EngineTally()
    known: dict[int, tuple[list[EngineCycles], int]] = {}
    turn, left = 0, times
    with activity(f"{choice.unit.name}, cycle model"):
        while left:
            if turn not in known:
                known[turn] = _jobs(choice, plan.jobs, turn, interval)
            jobs, after = known[turn]
            count = left if after == turn else 1
            for job in jobs:
                tally.add(Counts(**job.counts), count)
                tally.take(job, count)
            left, turn = left - count, after
    tally.seconds = watch.seconds
    return tally


def _jobs(
    choice: EngineChoice, jobs: Iterable[Job], turn: int, interval: int | None
) -> tuple[list[EngineCycles], int]:
    """Returns the cycle model's result for each job, and the operand that was read last."""
    found: list[EngineCycles] = []
    for job in jobs:
        try:
            timed = run_job(
                choice.config,
                job,
                memory=choice.memory,
                gigahertz=choice.gigahertz,
                interval=interval,
                turn=turn,
            )
        except BoundBroken as error:
            raise CheckFailed(str(error)) from None
        found.append(timed)
        turn = timed.turn
    return found, turn
