"""A GTA as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from ...hw.spec.gta import GtaConfig
from ...hw.spec.jobs.gta_commands import COMMAND_BYTES
from ..timing.dram import FLAT, MemoryModel
from .cycles.commands import job_of
from .cycles.machine import run_job, traffic
from .model import GtaModel

__all__ = ["TimedGta"]


class TimedGta(GtaModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    What a list says is looked at when the job begins: one that STOREs over itself is not modelled.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    memory_bytes: size of the memory, which begins at address 0
    memory: each manager's
    gigahertz: clock of the accelerator
    values: whether jobs leave results; without them it is much quicker, and takes only lists that
        are right
    """

    def __init__(
        self,
        config: GtaConfig,
        memory_bytes: int = 1 << 22,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 1.0,
        values: bool = True,
    ) -> None:
        super().__init__(config, memory_bytes)
        self._channel, self._gigahertz, self._with_values = memory, gigahertz, values

    def _job(self) -> tuple[str, int, dict[str, int]]:
        first = self._values["LIST"]
        size = self._values["COMMANDS"] * COMMAND_BYTES
        content = self.memory[first : first + size].tobytes()
        if self._with_values:
            found = super()._job()
            if found[0] != "none":
                return found
        job = job_of(self.config, first, content, self._masks(), self._values["LAYOUT"])
        timed = run_job(self.config, job, memory=self._channel, gigahertz=self._gigahertz)
        return "none", 0, traffic(self.config, job) | timed
