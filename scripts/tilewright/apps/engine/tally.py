"""What products on an engine took, and what they could not have beaten."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from ...sim.engine.counts import Counts
from ..common.tally import Tally

if TYPE_CHECKING:
    from ...sim.engine.cycles.report import EngineCycles

__all__ = ["EngineTally"]


@dataclass
class EngineTally(Tally):
    """What the products on an engine took: counters of all jobs, added.

    Parameters
    ----------
    stalls, bytes_read, bytes_written: counters
    jobs: that ran
    counters: compared with the cycle model
    bound_cycles, compute_cycles, memory_cycles: the sums of the jobs' bounds, and of what of them
        the unit and the memory need
    memory_bytes: that memory moved
    bytes_once: of the operands of all jobs, were each moved once a job
    peak: bytes a cycle that memory moves at most
    products: multiplications of an operation
    """

    stalls: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    jobs: int = 0
    counters: int = 0
    bound_cycles: float = 0.0
    compute_cycles: float = 0.0
    memory_cycles: float = 0.0
    memory_bytes: int = 0
    bytes_once: int = 0
    peak: float = 0.0
    products: int = 0

    @property
    def utilisation(self) -> float:
        """Share of all cycles in which the unit had an operation."""
        return self.busy_cycles / self.cycles if self.cycles else 0.0

    def add(self, counts: Counts, times: int = 1) -> None:
        """Count a job that was run so many times."""
        self.jobs += times
        for item in fields(counts):
            value = getattr(self, item.name) + times * getattr(counts, item.name)
            setattr(self, item.name, value)

    def take(self, timed: EngineCycles, times: int = 1) -> None:
        """Take what the cycle model says of a job, beside its counters."""
        self.bound_cycles += times * timed.bound.cycles
        self.compute_cycles += times * timed.bound.compute_cycles
        self.memory_cycles += times * timed.bound.memory_cycles
        self.memory_bytes += times * timed.memory_bytes
        self.bytes_once += times * timed.bound.bytes_once
        self.peak, self.products = timed.peak, timed.products
