"""Matrix products of any size on the tile engine, every result and every counter checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckFailed, UserError
from ...hw.spec.host.activity import Stopwatch
from ...sim.engine.counts import Counts
from ...sim.engine.driver import Driver
from ...sim.engine.model import EngineModel
from ...sim.engine.products import ProductPlan, plan_product
from ...sim.timing.bound_broken import BoundBroken
from ...sim.timing.memories import FLAT
from ..common.memory import available_memory, in_words
from ..common.native import native
from .options import EngineSetting
from .tally import EngineTally

__all__ = ["EngineProduct"]

Words = NDArray[np.uint64]
Progress = Callable[[int], None]
_FIRST_BYTES = 1 << 20


class EngineProduct:
    """A tile engine with its memory, as RTL or as its model, that multiplies matrices.

    Takes and gives what a `TiledProduct` does.

    Parameters
    ----------
    setting: the engine
    operation: one of its unit's
    backend: "rtl" simulates the generated Verilog in front of a flat memory, and compares D with
        the model bit for bit, and the counters with those of the cycle model; "cycles" computes
        with the model, and counts by the cycle model; "model" computes with the model alone

    Raises UserError if the RTL cannot be built; `multiply` if the memory is not enough, and
    CheckFailed if a job took fewer cycles than its bound.
    """

    def __init__(self, setting: EngineSetting, operation: str, *, backend: str) -> None:
        self._setting, self._operation = setting, operation
        latency = setting.memory.latency
        self._native = native(setting.unit, setting.config, latency) if backend == "rtl" else None
        # A memory takes time unless nothing does.
        self._channel = None if backend == "model" else setting.memory
        self._rtl: Any = None
        self._model: EngineModel | None = None
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
        shape, config = (a.shape[1], a.shape[2], b.shape[2]), self._setting.config
        try:
            plan = plan_product(
                config,
                self._operation,
                shape,
                use_c=c is not None,
                memory=self._channel or FLAT,
            )
        except ValueError as error:
            raise UserError(str(error)) from None
        self._make_room(plan.end)
        watch = Stopwatch()
        try:
            found = [
                self._one(plan, a[n], b[n], None if c is None else c[n], progress)
                for n in range(len(a))
            ]
        except BoundBroken as error:
            raise CheckFailed(str(error)) from None
        self.tally.seconds += watch.seconds
        return np.stack(found)

    def close(self) -> None:
        """End the simulation."""
        if self._rtl is not None:
            self._rtl.close()
            self._rtl = None

    def _make_room(self, size: int) -> None:
        """Devices with so much memory, unless they have it."""
        if self._model is not None and self._model.memory_bytes >= size:
            return
        self.close()
        size = max(size, _FIRST_BYTES)
        try:
            self._model = EngineModel(
                self._setting.config,
                size,
                channel=self._channel,
                gigahertz=self._setting.gigahertz,
            )
            self._rtl = self._native(size) if self._native else None
        except MemoryError:
            raise UserError(
                f"the product takes {in_words(size)} of the engine's memory; "
                f"{in_words(available_memory())} are available"
            ) from None

    def _one(
        self, plan: ProductPlan, a: Words, b: Words, c: Words | None, progress: Progress
    ) -> Words:
        assert self._model is not None
        operands = {"a": a, "b": b} | ({} if c is None else {"d": c})
        expected, modelled = _run(self._model, plan, operands)
        found, counted = expected, modelled
        if self._rtl is not None:
            found, counted = _run(self._rtl, plan, operands)
            self._check(found != expected, counted, modelled)
        for timed in self._model.cycles:
            self.tally.take(timed)
        self._model.cycles.clear()
        for counts in counted:
            self.tally.add(counts)
            progress(counts.operations)
        return found

    def _check(
        self, wrong: NDArray[np.bool_], counted: list[Counts], modelled: list[Counts]
    ) -> None:
        """Count elements of D, and counters, that are not the models', and those compared."""
        tally, names = self.tally, [item.name for item in fields(Counts)]
        tally.checked += wrong.size
        tally.mismatches += int(np.count_nonzero(wrong))
        for found, expected in zip(counted, modelled, strict=True):
            tally.counters += len(names)
            tally.mismatches += sum(getattr(found, n) != getattr(expected, n) for n in names)


def _run(device: Any, plan: ProductPlan, operands: dict[str, Words]) -> tuple[Words, list[Counts]]:
    """D and the counters of each job, on a device."""
    driver = Driver(device)
    for name, words in operands.items():
        driver.load_words(plan.matrices[name], words)
    counted = []
    for job in plan.jobs:
        driver.submit(job)
        counted.append(driver.counts)
    return driver.store_words(plan.matrices["d"]), counted
