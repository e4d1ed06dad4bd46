"""Lower bound of the cycles of an engine's job: the work of its unit, and the traffic of its
memory.

How a job is cut into blocks is fixed: A is read once for every block column, B once for every block
row, C once, and D is written once. So it is certain

1. that the unit takes all operations, one in so many cycles;
2. that every manager moves all beats of its operands, one a cycle each way;
3. that a DRAM moves at least as many accesses as hold the beats of each row of each block, one
   after the other, but for the last ones that are written: it answers a write as soon as that is in
   its queue. No more can be left than fill the queue, than its controller may decide ahead
   (within the time of a precharge and an activate), and one burst.

The bound is the largest of these times. It leaves out every latency, every dependence and every
bank; the cycle model and the RTL have them, so that they are above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ....hw.spec.engine import OPERANDS, EngineConfig
from ....hw.spec.matrix_unit import Operation
from ...timing.dram import MemoryModel, timing
from ..job import Job
from .walks import Grid, walks

__all__ = ["Bound", "bound"]


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
