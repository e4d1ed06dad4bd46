"""The report of the cycle model."""

from __future__ import annotations

from dataclasses import dataclass

from ....hw.spec.engine import EngineConfig
from ....hw.spec.matrix_unit import Operation
from ...timing.bound_broken import BoundBroken
from ...timing.dram import MemoryModel
from ..job import Job
from .bound import Bound
from .state import Shape, State

__all__ = ["EngineCycles", "report"]

_BEHIND = 2
"""Cycles outside of the simulated ones: from the last response to the end of the job, and from the
check of the job to the start of its parts."""


@dataclass(frozen=True, kw_only=True)
class EngineCycles:
    """The cost of a job.

    Parameters
    ----------
    counts: the counter registers, by their names in lower case
    interval: cycles of an operation of the unit
    products: of elements, in an operation: multiplications that the unit does at a time
    memory_read, memory_written: bytes that each manager's memory moved: whole accesses, or beats of
        a flat memory
    peak: bytes a cycle that all memories move at most, in both directions
    gigahertz: clock of the engine
    bound: what the job cannot beat
    turn: the operand (0: A) that the first manager has read last, see :func:`run_job`
    """

    counts: dict[str, int]
    interval: int
    products: int
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    peak: float
    gigahertz: float
    bound: Bound
    turn: int

    @property
    def cycles(self) -> int:
        """Cycles of the job."""
        return self.counts["cycles"]

    @property
    def busy_cycles(self) -> int:
        return self.counts["busy_cycles"]

    @property
    def stalls(self) -> int:
        return self.counts["stalls"]

    @property
    def operations(self) -> int:
        return self.counts["operations"]

    @property
    def bytes_read(self) -> int:
        return self.counts["bytes_read"]

    @property
    def bytes_written(self) -> int:
        return self.counts["bytes_written"]

    @property
    def microseconds(self) -> float:
        """Microseconds that the job takes."""
        return self.cycles / self.gigahertz / 1000

    @property
    def utilisation(self) -> float:
        """Share of the job's cycles in which the unit works."""
        return self.operations * self.interval / self.cycles

    @property
    def memory_bytes(self) -> int:
        """Bytes that all memories moved."""
        return sum(self.memory_read) + sum(self.memory_written)

    @property
    def bandwidth_utilisation(self) -> float:
        """Share of what the memories could move in the job's cycles."""
        return self.memory_bytes / (self.peak * self.cycles)

    @property
    def intensity(self) -> float:
        """Products of elements for each byte that memory moved: where the job is on a roofline."""
        return self.operations * self.products / self.memory_bytes

    @property
    def ratio(self) -> float:
        """Cycles over those of the bound."""
        return self.cycles / self.bound.cycles


def report(
    config: EngineConfig,
    operation: Operation,
    job: Job,
    c: Shape,
    s: State,
    memory: MemoryModel,
    gigahertz: float,
    limit: Bound,
) -> EngineCycles:
    """Makes the report from a state at the end of a job. Raises :class:`BoundBroken` if the job
    beats its lower bound, which shows an error in the model."""
    unit, store = s["unit"], s["store"]
    busy = int(unit["busy"])
    counts = {
        "cycles": int(store["answered_at"]) + _BEHIND,
        "busy_cycles": busy,
        "stalls": int(unit["accepted_at"] - unit["first_at"]) + 1 - busy,
        "operations": int(unit["operations"]),
        "bytes_read": int(s["readers"]["issued"].sum()) * config.beat_bytes,
        "bytes_written": job.m * job.n * operation.result_bits // 8,
    }
    if counts["cycles"] < limit.cycles:
        raise BoundBroken(counts["cycles"], limit.cycles)
    each = 2 * config.beat_bytes if memory.flat else memory.gigabytes / gigahertz
    managers = s["managers"][: config.managers]
    rows, cols, depth = config.tile_shape
    return EngineCycles(
        counts=counts,
        interval=int(c["interval"]),
        products=rows * cols * depth * config.unit.lane_bits // operation.operand_bits,
        memory_read=tuple(managers["read"].tolist()),
        memory_written=tuple(managers["written"].tolist()),
        peak=config.managers * each,
        gigahertz=gigahertz,
        bound=limit,
        turn=int(managers[0]["turn"]),
    )
