"""GTA's RTL, by its driver, with as much memory as is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.gta import GTA, GtaConfig
from ...hw.spec.host.activity import activity
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.gta.driver import GtaDriver
from ...sim.gta.model import GtaModel
from ...sim.timing.memories import FLAT, MemoryModel
from ..common.memory import available_memory, in_words
from ..common.native import native
from .options import GtaChoice
from .tally import Chosen

__all__ = ["GtaRtl"]

Patterns = NDArray[np.uint64]
Computed = TypeVar("Computed")

_FIRST_BYTES = 1 << 22


class GtaRtl:
    """The generated Verilog in front of a flat memory, or with another backend a model of the whole
    accelerator: with "cycles" the one of cycles, whose results are none. A context manager.

    Parameters
    ----------
    choice: the accelerator; its dataflow and layout are the driver's to choose where the user has
        left them
    memory, gigahertz: to "cycles" what is behind it, and its clock

    Members
    -------
    counts: counters of the last product, or of what else was computed

    Raises UserError if it cannot be built.
    """

    def __init__(
        self, choice: GtaChoice, *, memory: MemoryModel = FLAT, gigahertz: float = 1.0
    ) -> None:
        self._choice, self._device = choice, ExitStack()
        self._bytes = _FIRST_BYTES
        with activity("building gta"):
            if choice.backend == "rtl":
                self._native = native(GTA, choice.config, memory.latency)
            elif choice.backend == "cycles":
                self._native = partial(_clock, choice.config, memory, gigahertz)
            else:
                self._native = partial(_model, choice.config)
            self._driver = self._make()
        self.counts: dict[str, int] = {}

    def close(self) -> None:
        """End the simulation."""
        self._device.close()

    def _make(self) -> GtaDriver:
        self._device.close()
        return GtaDriver(self._device.enter_context(self._native(self._bytes)))

    def multiply(
        self, a: Patterns, b: Patterns, c: Patterns | None, result: str
    ) -> tuple[Patterns, Chosen]:
        """``c + a b``, and how it was laid out. Raises UserError for what the accelerator cannot
        do."""
        choice, asked = self._choice, self._choice.asked
        settings: dict[str, Any] = {
            "dataflow": asked.dataflow or "auto",
            "layout": asked.layout,
            "segments": asked.segments,
            "lateral": asked.lateral is not False,
            "along": asked.along if asked.dataflow == "simd" else None,
            "filled": bool(asked.filled),
        }
        found = self.compute(
            "product",
            lambda driver: driver.pgemm(choice.format, a, b, c, result=result, **settings),
        )
        laid, schedule = self._driver.choice, self._driver.schedule
        assert schedule is not None
        words = f"{schedule.words}, a sum an element"
        if laid:
            tiles = " x ".join(map(str, (laid.tiling.m, laid.tiling.n, laid.tiling.k)))
            words = f"{schedule.words}, tiles of {tiles}"
        if rest := self._driver.left_over:
            words += f", left over {rest.schedule.words}"
        cycles = self.counts["cycles"]
        return found, Chosen(words=words, coverage=None, cycles=cycles, schedule=schedule)

    def compute(self, what: str, work: Callable[[GtaDriver], Computed]) -> Computed:
        """The result of something that a driver does, with as much memory as that takes.

        ``what`` it is to messages. Raises UserError for what the accelerator cannot do.
        """
        while True:
            try:
                found = work(self._driver)
                break
            except NoRoom as lacking:
                self._grow(what, lacking)
            except ValueError as error:
                raise UserError(f"gta: {error}") from None
            except JobError as error:
                raise UserError(f"gta: the {what} cannot be computed: {error}") from None
        self.counts = self._driver.counts
        return found

    def _grow(self, what: str, lacking: NoRoom) -> None:
        if lacking.end > 1 << self._choice.config.addr_bits:
            raise UserError(f"gta: {lacking}")
        self._bytes = max(lacking.end, 2 * self._bytes)
        try:
            self._driver = self._make()
        except MemoryError:
            raise UserError(
                f"the {what} takes {in_words(self._bytes)} of the accelerator's memory; "
                f"{in_words(available_memory())} are available"
            ) from None


def _model(config: GtaConfig, memory_bytes: int) -> AbstractContextManager[GtaModel]:
    return nullcontext(GtaModel(config, memory_bytes))


def _clock(
    config: GtaConfig, memory: MemoryModel, gigahertz: float, memory_bytes: int
) -> AbstractContextManager[GtaModel]:
    # It loads a compiler.
    from ...sim.gta.timed import TimedGta

    made = TimedGta(config, memory_bytes, memory=memory, gigahertz=gigahertz, values=False)
    return nullcontext(made)
