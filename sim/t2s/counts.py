"""What an array counts in a job."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...hw.spec.jobs.t2s import COUNTERS

__all__ = ["Counts"]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The counters after a job."""

    cycles: int
    busy_cycles: int
    stalls: int
    operations: int
    bytes_read: int
    bytes_written: int

    @property
    def utilisation(self) -> float:
        """Share of the cycles from the first to the last iteration in which there was one."""
        return self.busy_cycles / max(1, self.busy_cycles + self.stalls)


assert [item.name for item in fields(Counts)] == list(COUNTERS)
