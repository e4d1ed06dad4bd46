"""Cycle model of the storer and its burst writer: when beats of D leave, and with them buffers."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import KNOWN, NEVER, PENDING, RING, Shape, State

__all__ = ["answer", "store_on"]

_ROWS = 2 * KNOWN
_TO_BUS = 2
"""Cycles from a beat at the buffer's output to ``w``."""


@inlined
def _next_row(c: Shape, s: State) -> bool:
    """The next row leaves the walker; whether there is one whose time is known."""
    t = s.store
    if t.done or t.left or t.rows_cut != t.rows_in or t.rows_out + KNOWN <= t.rows_in:
        return False
    at = max(t.row_at + 1, t.split_at)
    if t.rows_in >= KNOWN:
        at = max(at, s.rows[(t.rows_in - KNOWN) % _ROWS].ended_at + 1)
    if t.row == 0:
        if t.computed <= t.begun:
            return False
        at = max(at, s.computed[t.begun % KNOWN] + 1)
        t.begun += 1
    row = s.rows[t.rows_in % _ROWS]
    t.row_at = at
    row.at = at
    row.beats = t.beats_end if t.j == t.j_last else t.beats
    row.address = (t.base + t.i * t.step_i + t.j * t.step_j + t.row * t.step_row) & c.mask
    t.row += 1
    row.block_end = t.row == (t.rows_end if t.i == t.i_last else t.rows)
    t.rows_in += 1
    if row.block_end:
        t.row = 0
        if t.j < t.j_last:
            t.j += 1
        else:
            t.j = 0
            t.done = t.i == t.i_last
            t.i += 1
    return True


@inlined
def _leaves_buffer(s: State, beat: int) -> int:
    """When a beat is read from the buffer to its output."""
    before = s.leaves[(beat - 1) % RING] if beat else 0
    return max(s.puts[beat % RING] + 1, before)


@inlined
def _put_beats(c: Shape, s: State) -> bool:
    """Beats from the scratchpad to the buffer, as far as is known when; whether there were any."""
    t = s.store
    began = t.puts
    while t.rows_out < t.rows_in:
        row = s.rows[t.rows_out % _ROWS]
        soonest = row.at + 1
        while t.beat < row.beats:
            full = t.puts - c.buffer_beats
            if full > t.sends:
                return t.puts > began
            t.read_at = max(t.moved_at, soonest)
            t.moved_at = max(t.read_at + 1, t.put_at)
            t.put_at = t.moved_at + 1
            if full >= 0:
                t.put_at = max(t.put_at, _leaves_buffer(s, full) + 1)
            s.puts[t.puts % RING] = t.put_at
            t.puts += 1
            t.beat += 1
        t.beat = 0
        row.ended_at = t.read_at
        t.rows_out += 1
        if row.block_end:
            s.stored[t.stored % KNOWN] = t.put_at
            t.stored += 1
            if c.use_c:
                s.freed[2, s.readers[2].freed % KNOWN] = t.put_at
                s.readers[2].freed += 1
    return t.puts > began


@inlined
def _split(c: Shape, s: State) -> bool:
    """The next burst comes to the splitter's output; whether there is one."""
    t = s.store
    if t.split or (t.left == 0 and t.rows_cut == t.rows_in):
        return False
    at = t.issued_at
    if t.left == 0:
        row = s.rows[t.rows_cut % _ROWS]
        t.left = row.beats
        t.address = row.address
        at = max(at, row.at + 1)
        t.rows_cut += 1
    index = (t.address >> c.beat_shift) & (c.burst_beats - 1)
    t.beats_now = min(t.left, c.burst_beats - index)
    t.left -= t.beats_now
    t.split = 1
    t.split_at = at
    return True


@inlined
def _free_address(c: Shape, s: State) -> int:
    """Returns when the address queue has room; `NEVER` if not known yet."""
    t = s.store
    before = t.bursts - c.addresses
    if before < 0:
        return 0
    if not c.deep:
        return s.answers[before % RING] + 1 if before < t.answers else NEVER
    if before > t.answers:
        return NEVER
    # It has left the memory when the one before it has been answered.
    left = s.answers[(before - 1) % RING] if before else 0
    return max(s.queued[before % RING] + 1, left) + 1


@inlined
def answer(s: State, at: int) -> None:
    """The response to the next burst."""
    t = s.store
    t.answered_at = max(at, t.answered_at + 1)
    s.answers[t.answers % RING] = t.answered_at
    t.answers += 1


@inlined
def _issue(c: Shape, s: State) -> bool:
    """The burst at the splitter's output leaves, and its beats; whether it is known when."""
    t = s.store
    if not t.split or t.puts < t.sends + t.beats_now:
        return False
    free = _free_address(c, s)
    if free == NEVER:
        return False
    last = s.puts[(t.sends + t.beats_now - 1) % RING]
    t.issued_at = max(t.split_at + 1, last + 1, free)
    s.queued[t.bursts % RING] = t.issued_at
    at = max(t.taken_at, t.issued_at + 1)
    for _ in range(t.beats_now):
        at = max(at, _leaves_buffer(s, t.sends)) + 1
        s.leaves[t.sends % RING] = at
        t.sends += 1
    t.taken_at = at
    t.bursts += 1
    t.split = 0
    manager = s.managers[s.readers[2].manager]
    if c.flat:
        manager.written += t.beats_now << c.beat_shift
        answer(s, at + _TO_BUS + c.answer)
    else:
        place = s.arriving[s.readers[2].manager, manager.arrived % PENDING]
        place[0] = t.address
        place[1] = t.beats_now
        place[2] = at + _TO_BUS
        manager.arrived += 1
    t.address = (t.address + (t.beats_now << c.beat_shift)) & c.mask
    return True


@inlined
def store_on(c: Shape, s: State) -> bool:
    """All that is known now; returns whether it was anything."""
    moved = False
    while _next_row(c, s) or _put_beats(c, s) or _split(c, s) or _issue(c, s):
        moved = True
    return moved
