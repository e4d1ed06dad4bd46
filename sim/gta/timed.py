"""A GTA as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from typing import Any

from ...hw.spec.gta import GtaConfig
from ...hw.spec.jobs.gta_commands import COMMAND_BYTES
from ..timing.jobs import TimedDevice
from .cycles.commands import job_of
from .cycles.machine import run_job, traffic
from .model import GtaModel

__all__ = ["TimedGta"]


class TimedGta(TimedDevice, GtaModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    What a list says is looked at when the job begins: one that STOREs over itself is not modelled.

    Parameters
    ----------
    values: whether jobs leave results; without them it is much quicker, and takes only lists that
        are right
    others: see :class:`TimedDevice`
    """

    def __init__(
        self,
        config: GtaConfig,
        memory_bytes: int | None = None,
        *,
        values: bool = True,
        **others: Any,
    ) -> None:
        super().__init__(config, memory_bytes, **others)
        self._with_values = values

    def _before(self) -> bytes:
        first = self._values["LIST"]
        size = self._values["COMMANDS"] * COMMAND_BYTES
        return self.memory[first : first + size].tobytes()

    def _results(self) -> tuple[str, int, dict[str, int]]:
        return super()._results() if self._with_values else ("none", 0, {})

    def _timed(self, before: bytes, counts: dict[str, int]) -> tuple[str, int, dict[str, int]]:
        values = self._values
        job = job_of(self.config, values["LIST"], before, self._masks(), values["LAYOUT"])
        timed = run_job(self.config, job, **self._timing)
        return "none", 0, traffic(self.config, job) | timed
