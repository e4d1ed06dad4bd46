"""Cycle model of a loader and its burst reader: which burst it asks for next, and when."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import KNOWN, NEVER, RING, Shape, State

__all__ = ["ask_next"]

_TO_BUFFER = 2
"""From a beat at ``r`` to the scratchpad."""


@inlined
def _next_row(c: Shape, s: State, reader: int) -> bool:
    """The next row leaves the walker; whether there is one whose time is known."""
    r = s.readers[reader]
    if r.done:
        return False
    at = max(r.row_at + 1, r.split_at)
    if r.row == 0:
        if r.begun >= 2:
            if r.freed < r.begun - 1:
                return False
            at = max(at, s.freed[reader, (r.begun - 2) % KNOWN] + 1)
        r.begun += 1
    r.row_at = at
    ends = ((r.i == r.i_last), (r.j == r.j_last), (r.k == r.k_last))
    rows = r.rows_end if ends[r.rows_by] else r.rows
    r.left = r.beats_end if ends[r.beats_by] else r.beats
    r.address = (
        r.base + r.i * r.step_i + r.j * r.step_j + r.k * r.step_k + r.row * r.step_row
    ) & c.mask
    r.row += 1
    r.block_end = r.row == rows
    if r.block_end:
        r.row = 0
        r.k += 1
        if ends[2]:
            r.k = 0
            r.j += 1
            if ends[1]:
                r.j = 0
                r.i += 1
                r.done = ends[0]
    return True


@inlined
def _split(c: Shape, s: State, reader: int) -> None:
    """The next burst of the row at hand comes to the splitter's output."""
    r = s.readers[reader]
    index = (r.address >> c.beat_shift) & (c.burst_beats - 1)
    r.beats_now = min(r.left, c.burst_beats - index)
    r.left -= r.beats_now
    r.burst_address = r.address
    r.address = (r.address + (r.beats_now << c.beat_shift)) & c.mask
    r.ends = r.block_end and r.left == 0
    r.split = 1
    r.split_at = max(r.issued_at, r.row_at + 1)


@inlined
def _room(c: Shape, s: State, reader: int) -> int:
    """From when on the buffer has room for a longest burst; `NEVER` if that is not known yet."""
    r = s.readers[reader]
    wanted = r.issued - (c.buffer_beats - c.burst_beats)
    if wanted <= 0:
        return 0
    while r.room_beats + s.beats[reader, r.room_burst % RING] < wanted:
        r.room_beats += s.beats[reader, r.room_burst % RING]
        r.room_burst += 1
    start = s.start[reader, r.room_burst % RING]
    if start == NEVER:
        return NEVER
    return start + (wanted - r.room_beats - 1) + _TO_BUFFER + 1


@inlined
def _slot(c: Shape, s: State, reader: int) -> int:
    """From when on fewer bursts than may be are under way; `NEVER` if that is not known yet."""
    r = s.readers[reader]
    if r.bursts < c.outstanding:
        return 0
    place = (r.bursts - c.outstanding) % RING
    start = s.start[reader, place]
    if start == NEVER:
        return NEVER
    return start + s.beats[reader, place]


@inlined
def ask_next(c: Shape, s: State, reader: int) -> None:
    """Find out when the next burst asks for the bus, if that is known."""
    r = s.readers[reader]
    if r.asks_at != NEVER:
        return
    if not r.split:
        if r.left == 0 and not _next_row(c, s, reader):
            return
        _split(c, s, reader)
    room, slot = _room(c, s, reader), _slot(c, s, reader)
    if room == NEVER or slot == NEVER:
        return
    r.issued_at = max(r.split_at + 1, r.granted_at, room, slot)
    r.asks_at = r.issued_at + 1
