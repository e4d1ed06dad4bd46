"""The report of the cycle model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ....hw.spec.engine import OPERANDS, EngineConfig
from ....hw.spec.matrix_unit import Operation
from ...timing.bound_broken import BoundBroken
from ...timing.dram import MemoryModel, timing
from ..job import Job
from .state import Grid, Shape, State, walks

# Lower bound of the cycles of an engine's job: the work of its unit, and the traffic of its
# memory.
#
# The division of a job into blocks is fixed: A is read once for every block column, B once for
# every block row, C once, and D is written once. So it is certain
#
# 1. that the unit takes all operations, one in so many cycles;
# 2. that every manager moves all beats of its operands, one a cycle each way;
# 3. that a DRAM moves at least as many accesses as hold the beats of each row of each block, one
#    after the other, but for the last ones that are written: it answers a write as soon as that is
#    in its queue. No more can be left than fill the queue, than its controller may decide ahead
#    (within the time of a precharge and an activate), and one burst.
#
# The bound is the largest of these times. It leaves out every latency, every dependence and every
# bank; the cycle model and the RTL have them, so that they are above it.


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A lower bound of a job's cycles; the module's docstring derives it.

    Parameters
    ----------
    compute_cycles: of the unit
    port_cycles: of the managers, of each the larger of its two directions
    dram_cycles: of the DRAMs behind them; 0 for flat memories
    bytes_once: of A, B, C and D, if each were moved once
    """

    compute_cycles: int
    port_cycles: tuple[int, ...]
    dram_cycles: tuple[float, ...]
    bytes_once: int

    @property
    def memory_cycles(self) -> float:
        """Cycles of the manager, or the DRAM, that has the most to move."""
        return max(*self.port_cycles, *self.dram_cycles)

    @property
    def cycles(self) -> float:
        return max(self.compute_cycles, self.memory_cycles)


def _positions(cut: Grid, walk: Any, per_beats: Any) -> int:
    """The sum over all rows of all blocks of a function of their beats."""
    counts = [last + 1 for last in cut.last]
    if not walk["k_last"]:
        counts[2] = 1
    total = 1
    for level, count in enumerate(counts):
        if level == walk["rows_by"]:
            total *= (count - 1) * int(walk["rows"]) + int(walk["rows_end"])
        elif level == walk["beats_by"]:
            total *= (count - 1) * per_beats(int(walk["beats"])) + per_beats(int(walk["beats_end"]))
        else:
            total *= count
    return total


def bound(
    config: EngineConfig,
    operation: Operation,
    job: Job,
    memory: MemoryModel,
    gigahertz: float,
    interval: int,
) -> Bound:
    """Computes the bound of a job; ``interval``: cycles of an operation of the unit."""
    cut, found = Grid(config, operation, job), dict(
        zip(OPERANDS, walks(config, operation, job), strict=True)
    )  # fmt: skip
    if not job.use_c:
        del found["c"]
    beat, access = config.beat_bytes, memory.access_bytes

    def moved(manager: int, per_beats: Any) -> tuple[int, int]:
        """Counts what a manager reads, and what it writes."""
        totals = [0, 0]
        for name, walk in found.items():
            if config.channels[min(OPERANDS.index(name), 2)] == manager:
                totals[name == "d"] += _positions(cut, walk, per_beats)
        return totals[0], totals[1]

    ports = tuple(max(moved(manager, int)) for manager in range(config.managers))
    drams: tuple[float, ...] = (0.0,)
    if not memory.flat:
        times = timing(memory, gigahertz)
        ahead = math.ceil((times.precharge + times.activate) / times.burst)
        late = (memory.write_queue + 1) * -(-config.burst_beats * beat // access) + ahead
        each = []
        for manager in range(config.managers):
            reads, writes = moved(manager, lambda beats: -(-beats * beat // access))
            each.append((reads + max(0, writes - late)) * times.burst)
        drams = tuple(each)
    tiles = 1
    for size, tile in zip((cut.m, cut.n, cut.k), config.tile_shape, strict=True):
        tiles *= -(-size // tile)
    bits = (job.m * job.k + job.k * job.n) * operation.operand_bits
    bits += (1 + job.use_c) * job.m * job.n * operation.result_bits
    return Bound(
        compute_cycles=tiles * interval,
        port_cycles=ports,
        dram_cycles=drams,
        bytes_once=bits // 8,
    )


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
