"""Cycle model of a manager's reads: arbiter, address channel, and the memory behind it."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import KNOWN, NEVER, RING, Shape, State

__all__ = ["grant", "grants_at"]

_TO_SCRATCHPAD = 2
"""From a beat at ``r`` to the scratchpad."""


@inlined
def grants_at(c: Shape, s: State, manager: int) -> int:
    """When the arbiter takes the next burst; `NEVER` if it has none, or no room for it."""
    p = s.managers[manager]
    if p.waiting == 2:
        return NEVER
    at = NEVER
    for reader in range(c.readers):
        r = s.readers[reader]
        if r.manager == manager:
            at = min(at, r.asks_at)
    if at != NEVER:
        free = p.taken_at if p.waiting else p.before_at
        at = max(at, p.grants_at, free + 1)
    return at


@inlined
def send(c: Shape, s: State, reader: int, burst: int, soonest: int) -> bool:
    """A burst's beats at ``r``, one a cycle, the first not before ``soonest``; returns whether the
    block ends with them."""
    place = burst % RING
    p = s.managers[s.readers[reader].manager]
    start = max(soonest, p.free_at)
    p.free_at = start + s.beats[reader, place]
    s.start[reader, place] = start
    if s.block[reader, place]:
        r = s.readers[reader]
        s.loaded[reader, r.loaded % KNOWN] = p.free_at - 1 + _TO_SCRATCHPAD
        r.loaded += 1
        return True
    return False


@inlined
def grant(c: Shape, s: State, manager: int, now: int) -> int:
    """The arbiter takes the burst of the next reader that asks, which is returned."""
    p = s.managers[manager]
    reader = p.turn
    for step in range(1, 4):
        reader = (p.turn + step) % 3
        if s.readers[reader].manager == manager and s.readers[reader].asks_at <= now:
            break
    p.turn = reader
    p.grants_at = now + 1
    r = s.readers[reader]
    place = r.bursts % RING
    s.start[reader, place] = NEVER
    s.beats[reader, place] = r.beats_now
    s.block[reader, place] = r.ends
    r.granted_at = now
    r.bursts += 1
    r.issued += r.beats_now
    r.asks_at = NEVER
    r.split = 0
    return reader
