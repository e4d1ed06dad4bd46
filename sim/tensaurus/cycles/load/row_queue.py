"""Cycle model: the queue of slots before a row."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from ..array.step import END
from ..array.sums import wrapped

__all__ = ["put_slot", "queue_step", "row_is_free"]


@called
def row_is_free(m: Any, row: Any) -> bool:
    """Whether the queue takes a slot in this cycle."""
    return row.level_queued != m.queue_depth


@called
def put_slot(m: Any, row: Any) -> None:
    """``slot`` goes into the queue at the end of the cycle."""
    place = row.queue[row.put_at]
    row.put_at = wrapped(row.put_at + 1, m.queue_depth)
    place.kind = row.slot.kind
    place.index_0 = row.slot.index_0
    place.index_1 = row.slot.index_1
    place.index_2 = row.slot.index_2
    row.puts = 1


@called
def queue_step(m: Any, row: Any) -> None:
    """The end of a cycle in which something was put, and what is there taken (``took``), or not."""
    read = row.level_queued != 0 and (row.took or not row.there)
    if row.took:
        row.there = 0
        if row.kind == END:
            row.tiles_inside -= 1
    if read:
        slot = row.queue[row.read_at]
        row.read_at = wrapped(row.read_at + 1, m.queue_depth)
        row.there = 1
        row.kind = slot.kind
        row.index_0 = slot.index_0
        row.index_1 = slot.index_1
        row.index_2 = slot.index_2
        row.level_queued -= 1
    row.level_queued += row.puts
    row.puts = 0
    row.took = 0
