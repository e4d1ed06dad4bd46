"""An array as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from dataclasses import asdict

from ....hw.spec.t2s.config import T2sConfig
from ...timing.dram import FLAT, MemoryModel
from ..job import Job
from ..model import T2sModel
from .machine import run_job

__all__ = ["T2sCycles"]


class T2sCycles(T2sModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    Parameters
    ----------
    config: see :class:`T2sConfig`
    memory_bytes: size of the memory, which begins at address 0
    memory: each manager's
    gigahertz: clock of the array
    """

    def __init__(
        self,
        config: T2sConfig,
        memory_bytes: int = 1 << 22,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 1.0,
    ) -> None:
        super().__init__(config, memory_bytes)
        self._channel, self._gigahertz = memory, gigahertz
        # Which loaders were served last; a soft reset leaves that as it is.
        self._turns: tuple[int, ...] = ()

    def _job(self) -> tuple[str, int, dict[str, int]]:
        found = super()._job()
        if found[0] != "none":
            return found
        timed = run_job(
            self.config,
            Job.of_registers(self.config, self._values),
            memory=self._channel,
            gigahertz=self._gigahertz,
            turns=self._turns,
        )
        self._turns = timed.turns
        return "none", 0, asdict(timed.counts)
