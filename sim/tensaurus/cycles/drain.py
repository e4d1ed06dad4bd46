"""Cycle model: slices that are complete leave, a vector a cycle of all rows."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import DELAYS, Plan, Shape, State

__all__ = ["drain", "drain_queue"]


@inlined
def drain(c: Shape, s: State, p: Plan, served: int, now: int) -> int:
    """Whose vector leaves, in turn behind the one that was ``served``; that row from now on."""
    chosen = -1
    for row in range(c.rows):
        record = s.rows[row]
        s.freed[row] = 0
        record.leaving = 0
        if not (record.shown and record.complete and record.tiles):
            continue
        if s.slices[row, record.first, 1]:
            record.leaving = 1
            record.tiles -= 1
            record.drained = now
        elif chosen < 0 or (chosen <= served < row):
            chosen = row
    if chosen < 0:
        return served
    record = s.rows[chosen]
    record.vector_out += 1
    if record.vector_out == p.vectors[c.levels - 1]:
        record.vector_out = 0
        record.leaving = 1
        s.freed[chosen] = s.slices[chosen, record.first, 0]
    return chosen


@inlined
def drain_queue(c: Shape, s: State, row: int, size: int, end: int, now: int) -> None:
    """The end of the cycle: a slice comes (``size`` is not negative), one is gone."""
    record = s.rows[row]
    places = c.output + 2
    read = record.queued != 0 and (record.leaving or not record.shown)
    if record.leaving:
        record.first = (record.first + 1) % places
        record.complete -= 1
        record.shown = 0
    if read:
        record.queued -= 1
        record.shown = 1
    if size >= 0:
        s.slices[row, record.put, 0] = size
        s.slices[row, record.put, 1] = end
        record.put = (record.put + 1) % places
        record.queued += 1
    record.complete += s.released[row, now % DELAYS]
    s.released[row, now % DELAYS] = 0
