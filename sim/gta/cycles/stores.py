"""Cycle model of ``LaneStorer``: results from the lanes to beats."""

from __future__ import annotations

from ...timing.compiled import inlined
from .results import reads_results
from .state import Gta
from .walk import advance, begin

__all__ = ["gather", "gather_busy"]

_STORES = 1
_WAITING = 8
_LAST, _ENDS, _HALF, _SHORT = 1, 2, 4, 8
"""Of a part: the last one of its row, of its command; it is 8 bytes in memory, or counts no more
than 8."""
_PARTS = 16


@inlined
def gather_busy(g: Gta) -> bool:
    """Whether a part is on its way."""
    m = g.m[0]
    busy = (m.owed | m.narrow | m.beat) != 0
    if g.c.octets > 1:
        return busy or m.at != 0
    return busy


@inlined
def _is_read(g: Gta, now: int) -> bool:
    """Whether the array reads a bank that the next part is in."""
    w = g.walks[_STORES]
    command = g.commands[w.held_command]
    bank = w.bank + w.at // command.element % command.banks
    if reads_results(g, w.lane, bank, now):
        return True
    return command.parts == 2 and reads_results(g, w.lane, bank + 1, now)


@inlined
def _build(g: Gta) -> bool:
    """Parts to beats; returns whether one at the narrower's output is taken."""
    m = g.m[0]
    takes = g.b.writer[0].takes != 0
    free = m.beat == 0 or takes
    m.sent += m.beat != 0 and takes and m.beat_ends != 0
    part = m.narrow_part
    half = (part & _HALF) != 0
    if g.c.octets == 1:
        ends = m.upper != 0 or half or (part & _SHORT) != 0
        taken = m.narrow != 0 and free and ends
        if m.narrow != 0 and free:
            m.upper = not ends
        if free:
            m.beat = m.narrow
            m.beat_ends = (part & _ENDS) != 0 and ends
        return taken
    following = m.at + (1 if half else 2)
    sends = following >= g.c.octets or (part & _LAST) != 0
    taken = m.narrow != 0 and (free or not sends)
    if free:
        m.beat = m.narrow != 0 and sends
        m.beat_ends = (part & _ENDS) != 0
    if taken:
        m.at = 0 if sends else following
    return taken


@inlined
def gather(g: Gta, now: int) -> bool:
    """A cycle of the way from the lanes to the writer, which has said whether it ``takes`` the
    beat at the end; returns whether a STORE's last part is being read."""
    m, w = g.m[0], g.walks[_STORES]
    taken = _build(g)
    # The narrower, and the queue before it.
    free = m.narrow == 0 or taken
    passes = m.waiting_valid != 0 and free
    if free:
        m.narrow = m.waiting_valid
        m.narrow_part = m.waiting
    reads = m.waiting_in != m.waiting_out and (m.waiting_valid == 0 or passes)
    if reads:
        m.waiting = g.parts[m.waiting_out % _PARTS]
        m.waiting_out += 1
    m.waiting_valid = reads or (m.waiting_valid != 0 and not passes)
    # Two cycles through the memory; 0 is no part.
    if m.read_2:
        g.parts[m.waiting_in % _PARTS] = m.read_2 >> 1
        m.waiting_in += 1
    m.read_2 = m.read_1
    m.read_1 = 0
    issues = False
    finished = False
    if w.active and m.owed != _WAITING:
        if _is_read(g, now):
            m.waits = 1
        else:
            issues = True
            part = 0
            if w.bytes_left <= 16:
                part |= _LAST
                if w.rows_left == 1:
                    part |= _ENDS
            if w.bytes_left <= 8:
                part |= _SHORT
            if g.commands[w.held_command].narrow:
                part |= _HALF
            m.read_1 = part << 1 | 1
            finished = advance(g, _STORES, 16)
    m.owed += int(issues) - int(passes)
    begin(g, _STORES, finished)
    return finished
