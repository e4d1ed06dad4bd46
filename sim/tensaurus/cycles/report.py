"""What the cycle model finds: the counters, and what the memory moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....hw.spec.tensaurus import TensaurusConfig
from ..result.kernel import Kernel
from .array.state import COUNTS
from .load.state import READERS

__all__ = ["TensorCycles", "report"]

_BEFORE = 1
"""Cycles before the start in which rows are said to wait for slots."""
_BEHIND = 2
"""From the cycle of the start to the last one that counts, beyond those between them."""


@dataclass(frozen=True, kw_only=True)
class TensorCycles:
    """A job.

    Parameters
    ----------
    counts: the counter registers, by their names in lower case
    tiles: of the job
    memory_read, memory_written: bytes that each channel's memory moved: whole accesses, or beats of
        a flat memory
    gigahertz: clock of the accelerator
    """

    counts: dict[str, int]
    tiles: int
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    gigahertz: float

    @property
    def cycles(self) -> int:
        """Of the job."""
        return self.counts["cycles"]

    @property
    def microseconds(self) -> float:
        """That it takes."""
        return self.cycles / self.gigahertz / 1000

    @property
    def operations_per_second(self) -> float:
        """Multiplications and additions of lanes that count."""
        if not self.cycles:
            return 0.0
        return self.counts["operations"] * self.gigahertz * 1e9 / self.cycles


def report(
    config: TensaurusConfig, kernel: Kernel, m: Any, bus: Any, end: int, tiles: int,
    gigahertz: float,
) -> TensorCycles:  # fmt: skip
    """Of a machine ``m`` that has finished in cycle ``end`` after its start."""
    rows = m["rows"][: config.rows]
    counts = {name: int(rows[name].sum()) for name in COUNTS}
    counts["wait_slots"] += _BEFORE * config.rows
    first, last, busy = (int(m[name]) for name in ("first_at", "last_at", "busy"))
    values = 1 if kernel.name == "mv" else config.unit_values
    beat_bytes = config.geometry.beat_bytes
    read = [int(count) * beat_bytes for count in bus.readers["beats"]]
    counts |= {
        "cycles": end + _BEHIND,
        "busy_cycles": busy,
        "stalls": last - first + 1 - busy if busy else 0,
        "operations": 2 * values * counts["products"],
        "bytes_read": sum(read),
        "bytes_written": int(m["sent"]),
        **{f"bytes_{name}": count for name, count in zip(READERS, read, strict=True)},
        "drains": int(m["drains"]),
    }
    return TensorCycles(
        counts=counts,
        tiles=tiles,
        memory_read=tuple(int(count) for count in bus.channels["read"]),
        memory_written=tuple(int(count) for count in bus.channels["written"]),
        gigahertz=gigahertz,
    )
