"""Cycle model: a stream's entries, from lines to the queues of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....timing.compiled import called
from ....timing.gearbox import gear
from ..array.step import END, HEADER, VALUE
from .row_queue import put_slot, row_is_free
from .state import TENSOR

__all__ = ["entries_step"]

_TILE_SKID, _CONTEXT = 5, 6
_ENTRIES = 2
_USERS = 3


@called
def _number(content: Any, at: int, size: int) -> Any:
    """Of so many bytes, the lowest first."""
    found = np.int64(0)
    for place in range(size):
        found |= np.int64(content[at + place]) << 8 * place
    return found


@called
def _read(m: Any, row: Any, content: Any, at: int) -> None:
    """A row's slot, as it would go to its queue; nothing for a no-op behind the first one."""
    first = _number(content, at + m.value_bytes, m.index_bytes)
    header = first > m.index_mask if m.marker_bit else _number(content, at, m.value_bytes) == 0
    first &= m.index_mask
    slot = row.slot
    slot.index_0 = first
    row.present = 1
    if header:
        slot.kind = HEADER
        if first == m.index_mask:
            slot.kind = END
            row.present = not row.ended
            row.ended = 1
        return
    slot.kind = VALUE
    if m.order > 2:
        slot.index_1 = _number(content, at + m.value_bytes + m.index_bytes, m.index_bytes)
    if m.order > 3:
        slot.index_2 = _number(content, at + m.value_bytes + 2 * m.index_bytes, m.index_bytes)


@called
def _judge(m: Any, content: Any) -> None:
    """The entry that was seen: what of it goes to which row."""
    slot_bytes = m.entry_bytes // m.height
    for number in range(m.height):
        _read(m, m.rows[number], content, m.seen + number * slot_bytes)
    if m.seen_last:
        for number in range(m.height):
            m.rows[number].ended = 0


@called
def entries_step(m: Any, tiles: Any, content: Any) -> bool:
    """A cycle from the queues back to the lines; whether the tile's stream has been cut to its
    end."""
    goes = m.judged_valid != 0
    for number in range(m.height):
        row = m.rows[number]
        goes = goes and (not row.present or row_is_free(m, row))
    if goes:
        for number in range(m.height):
            if m.rows[number].present:
                put_slot(m, m.rows[number])
    free = goes or not m.judged_valid
    seen_free = free or not m.seen_valid
    if free:
        m.judged_valid = m.seen_valid
        if m.seen_valid:
            _judge(m, content)
    context, cut = m.skids[_CONTEXT], m.gears[_ENTRIES]
    ready = context.valid != 0 and seen_free
    if seen_free:
        m.seen_valid = context.valid and cut.valid
        if m.seen_valid:
            m.seen = tiles[context.value].stream + m.entry * m.entry_bytes
            m.seen_last = cut.last
            m.entry += 1
            if cut.last:
                m.entry = 0
                context.takes = 1
    tile, port = m.skids[_TILE_SKID], m.ports[TENSOR]
    wants = tile.valid != 0 and not m.forks[_USERS] & 1
    count = tiles[tile.value].entries if wants else 1
    took, ends = gear(cut, wants, count, m.entry_bytes, m.line_bytes, port.line != 0, ready)
    port.takes = took
    return ends
