"""Golden model of the tile engine: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit, but for what
depends on time: CYCLES, BUSY_CYCLES and STALLS read as zero.
"""

from __future__ import annotations

from dataclasses import asdict

from ...hw.spec.engine import EngineConfig
from ...hw.spec.jobs.engine import job_spec
from ..device.model import ModelDevice
from .job import Job, JobFailure, run_job

__all__ = ["EngineModel"]


class EngineModel(ModelDevice):
    """The engine as software sees it. A job is over as soon as it is started.

    Parameters
    ----------
    config: see :class:`EngineConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Members
    -------
    memory: the memory, uint8
    """

    def __init__(self, config: EngineConfig, memory_bytes: int = 1 << 22) -> None:
        self._config = config
        super().__init__(job_spec(config), memory_bytes)

    @property
    def config(self) -> EngineConfig:
        return self._config

    def _job(self) -> tuple[str, int, dict[str, int]]:
        try:
            outcome = run_job(self._config, self.memory, Job.of_registers(self._values))
        except JobFailure as failure:
            return failure.error, failure.detail, {}
        return "none", 0, asdict(outcome)
