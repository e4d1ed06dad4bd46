"""Golden model of the tile engine: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit. What depends on
time (CYCLES, BUSY_CYCLES and STALLS) comes from the cycle model, or without one reads as zero.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ...hw.spec.engine import EngineConfig
from ...hw.spec.jobs.engine import job_spec
from ..device.model import ModelDevice
from .job import Job, JobFailure, run_job

if TYPE_CHECKING:
    from ..timing.dram import MemoryModel
    from .cycles.report import EngineCycles

__all__ = ["EngineModel"]

_MOST_KNOWN = 1024
"""Jobs of which the counters are kept."""


class EngineModel(ModelDevice):
    """The engine as software sees it. A job is over as soon as it is started.

    Parameters
    ----------
    config: see :class:`EngineConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it
    channel: what each manager's memory does, for the cycle model; None: without it
    gigahertz: clock of the engine, for the cycle model
    interval: see :func:`tilewright.sim.engine.cycles.machine.run_job`

    Members
    -------
    memory: the memory, uint8
    cycles: what the cycle model found for each job that ended well, in order; may be cleared
    """

    cycles: list[EngineCycles]

    def __init__(
        self,
        config: EngineConfig,
        memory_bytes: int = 1 << 22,
        *,
        channel: MemoryModel | None = None,
        gigahertz: float = 1.0,
        interval: int | None = None,
    ) -> None:
        self.config: Final = config
        self._channel, self._gigahertz, self._interval = channel, gigahertz, interval
        self._turn = 0
        self._known: dict[Any, EngineCycles] = {}
        self.cycles = []
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        job = Job.of_registers(self._values)
        try:
            outcome = run_job(self.config, self.memory, job)
        except JobFailure as failure:
            return failure.error, failure.detail, {}
        return "none", 0, asdict(outcome) if self._channel is None else self._timed(job)

    def _timed(self, job: Job) -> dict[str, int]:
        """All counters. Compiled code is imported only where it is wanted, and jobs that are alike
        are run once: values take no time."""
        from .cycles.machine import run_job as run_cycles

        assert self._channel is not None
        alike = (*job.registers.values(), self._turn)
        if alike not in self._known:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            self._known[alike] = run_cycles(
                self.config,
                job,
                memory=self._channel,
                gigahertz=self._gigahertz,
                interval=self._interval,
                turn=self._turn,
            )
        found = self._known[alike]
        self._turn = found.turn
        self.cycles.append(found)
        return dict(found.counts)
