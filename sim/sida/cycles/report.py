"""What the cycle model finds: the counters, and what the memory moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....hw.spec.sida import SidaConfig
from .load.state import COUNTS, READERS

__all__ = ["SidaTimes", "report"]

_BEHIND = 2
"""From the cycle of the job's beginning to the last one that counts, beyond those between them."""

_STREAMS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("pointers", "rows", "values", "vectors", "program")},
    "again": ("again_pointers", "again_columns", "again_values"),
}


@dataclass(frozen=True, kw_only=True)
class SidaTimes:
    """A job.

    Parameters
    ----------
    counts: the counter registers, by their names in lower case, but for ``ended``
    memory_read, memory_written: bytes that each channel's memory moved: whole accesses, or beats of
        a flat memory
    moved_with_columns: bytes of lines that were taken, and of what was written, in column_cycles
    asked: of each panel the first pass in which it was read again, from 1; 0: none
    gigahertz: clock of the accelerator
    """

    counts: dict[str, int]
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    moved_with_columns: int
    asked: tuple[int, ...]
    gigahertz: float

    @property
    def microseconds(self) -> float:
        """That it takes."""
        return self.counts["cycles"] / self.gigahertz / 1000


def report(
    config: SidaConfig, m: Any, asked: Any, bus: Any, end: int, gigahertz: float
) -> SidaTimes:
    """Of a machine ``m`` that has finished in cycle ``end``, its job's first one being 0, and what
    ``Held`` has in ``asked``."""
    counts = {name: int(m["counts"][name]) for name in COUNTS}
    first, last, busy = (int(m[name]) for name in ("first_at", "last_at", "busy"))
    beat_bytes = config.geometry.beat_bytes
    beats = dict(zip(READERS, bus.readers["beats"].tolist(), strict=True))
    read = {
        f"bytes_{name}": beat_bytes * sum(beats[reader] for reader in readers)
        for name, readers in _STREAMS.items()
    }
    products = 2 if m["second_product"] else 1
    counts |= {
        "cycles": end + _BEHIND,
        "busy_cycles": busy,
        "stalls": last - first + 1 - busy if busy else 0,
        "operations": 2 * products * counts["elements"],
        "bytes_read": sum(read.values()),
        **read,
        "bytes_written": int(bus.writer["bytes"][0]),
        "passes_done": int(m["passes_done"]),
    }
    return SidaTimes(
        counts=counts,
        memory_read=tuple(int(moved) for moved in bus.channels["read"]),
        memory_written=tuple(int(moved) for moved in bus.channels["written"]),
        moved_with_columns=int(m["moved_with_columns"]),
        asked=tuple(asked.tolist()),
        gigahertz=gigahertz,
    )
