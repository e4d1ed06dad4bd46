"""Cycle model: slices that are complete leave, a vector a cycle of all rows."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .state import DELAYS, FREE, SLICES
from .sums import wrapped

__all__ = ["drain", "drain_queue"]


@called
def drain(m: Any, now: int) -> None:
    """A vector leaves, of a row in turn behind the one that was served last; ends of tiles leave
    at once."""
    chosen = FREE
    for number in range(m.height):
        row = m.rows[number]
        row.freed = 0
        row.leaving = 0
        if row.shown and row.complete and row.tiles:
            if row.slices[row.first, 1]:
                row.leaving = 1
                row.tiles -= 1
                m.drained += 1
                m.drained_at = now
            elif not m.hold and (chosen < 0 or (chosen <= m.served < number)):
                chosen = number
    if chosen != FREE:
        m.served = chosen
        m.drains += 1
        m.leaves = 1
        _leave(m, m.rows[chosen])


@called
def _leave(m: Any, row: Any) -> None:
    """A vector of the row's first slice."""
    slice_ = row.numbers[row.slice_out % SLICES]
    m.left_unit = slice_ * m.slice_units + row.vector_out
    row.vector_out += 1
    if row.vector_out == m.slice_units:
        row.vector_out = 0
        row.leaving = 1
        row.freed = row.slices[row.first, 0]
        unit = slice_ // m.unit_slices
        row.slice_out += 1
        m.touched = max(m.touched, (unit + 1) * m.slice_units)


@called
def drain_queue(m: Any, row: Any, size: int, end: int, now: int) -> None:
    """The end of the cycle: a slice comes (``size`` is not negative), one is gone."""
    places = m.output + 2
    read = row.queued != 0 and (row.leaving or not row.shown)
    if row.leaving:
        row.first = wrapped(row.first + 1, places)
        row.complete -= 1
        row.shown = 0
    if read:
        row.queued -= 1
        row.shown = 1
    if size >= 0:
        row.slices[row.slice_put, 0] = size
        row.slices[row.slice_put, 1] = end
        row.slice_put = wrapped(row.slice_put + 1, places)
        row.queued += 1
    row.complete += row.released[now % DELAYS]
    row.released[now % DELAYS] = 0
