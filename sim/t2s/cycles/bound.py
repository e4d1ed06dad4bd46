"""What no job of an array can beat: what its elements do, and what its memory moves.

It is certain

1. that the last element begins all its operations, one in a cycle;
2. that every manager moves all beats of its images, one a cycle each way;
3. that a DRAM moves at least as many accesses as hold the beats of each run, one after the other,
   but for the last ones that are written: it answers a write as soon as that is in its queue. No
   more can be left than fill the queue, than its controller may decide ahead (within the time of a
   precharge and an activate), and one burst.

The bound is the largest of these times. It leaves out every latency, every dependence and every
bank; the cycle model and the Verilog have them, so that they are above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ....hw.spec.t2s.config import T2sConfig
from ....hw.spec.t2s.parts import MemoryPart
from ...timing.dram import MemoryModel, timing
from ..job import Job, run_count

__all__ = ["bound"]


def bound(
    config: T2sConfig, job: Job, operations: int, memory: MemoryModel, gigahertz: float
) -> float:
    """Cycles of a job at least, of a design without sparse operands; ``operations``: of an
    element."""
    beat = config.beat_bytes

    def moved(parts: Iterable[MemoryPart], bytes_each: int) -> int:
        """Beats, or accesses of so many bytes."""
        return sum(
            run_count(job, one) * -(-one.run_beats(beat) * beat // bytes_each) for one in parts
        )

    found: list[float] = [operations]
    times, access = timing(memory, gigahertz), memory.access_bytes
    ahead = math.ceil((times.precharge + times.activate) / times.burst)
    late = (memory.write_queue + 1) * -(-config.burst_beats * beat // access) + ahead
    for number in range(config.managers):
        reads = [one for one in config.readers(number) if isinstance(one, MemoryPart)]
        writes = config.writers(number)
        found += [moved(reads, beat), moved(writes, beat)]
        if not memory.flat:
            accesses = moved(reads, access) + max(0, moved(writes, access) - late)
            found.append(accesses * times.burst)
    return max(found)
