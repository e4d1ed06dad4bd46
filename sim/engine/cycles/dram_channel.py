"""Cycle model of a DRAM behind a manager: what its controller takes, decides, and sends back.

Reads of an operand are answered in their order, as its ID demands, however the controller orders
its accesses; their beats come when all of a burst is there. A burst that lies in several pages is
as many requests. Data to write is taken at any time, and answered when it is in the controller's
queue.
"""

from __future__ import annotations

import math

from ...timing.compiled import inlined
from ...timing.dram import Channels, Timing, push, serve
from .state import KNOWN, NEVER, PENDING, RING, Shape, State
from .store import answer

_TO_SCRATCHPAD = 2
"""Cycles from a beat at ``r`` to the scratchpad."""


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


SERVES, WRITES, TAKES, GRANTS = range(4)
"""Kinds of events at a manager, in their order within a cycle."""

_NOT_TAKEN = 1
"""Requests of a burst that the controller does not know yet."""


@inlined
def _requests(c: Shape, d: Channels, channel: int, write: int, address: int, beats: int, tag: int
) -> tuple[int, int]:  # fmt: skip
    """A burst's, to the controller's queue; returns how many, and the bytes that they move."""
    count, moved = 0, 0
    end = address + (beats << c.beat_shift)
    while address < end:
        page = address // c.page_bytes
        stop = min(end, (page + 1) * c.page_bytes)
        accesses = (stop - 1) // c.access_bytes - address // c.access_bytes + 1
        push(d, channel, write, page, accesses, tag)
        count += 1
        moved += accesses * c.access_bytes
        address = stop
    return count, moved


@inlined
def _decides_at(s: State, d: Channels, t: Timing, channel: int) -> int:
    """When the controller decides on its next access."""
    if d.count[channel, 0] + d.count[channel, 1] == 0:
        return NEVER
    ahead = t.precharge + t.activate
    return max(s.managers[channel].serves_at, math.ceil(d.clock[channel, 0] - ahead))


@inlined
def _has_room(c: Shape, d: Channels, channel: int, write: int, address: int, beats: int) -> bool:
    queue = c.write_queue if write else c.read_queue
    room = queue - d.count[channel, write]
    pages = (address + (beats << c.beat_shift) - 1) // c.page_bytes - address // c.page_bytes + 1
    fits: bool = pages <= room
    return fits


@inlined
def next_event(c: Shape, s: State, d: Channels, t: Timing, channel: int) -> tuple[int, int]:
    """When something happens next, and what."""
    p = s.managers[channel]
    at, what = _decides_at(s, d, t, channel), SERVES
    if p.arrived > p.taken_writes:
        place = s.arriving[channel, p.taken_writes % PENDING]
        its = max(place[2], p.served_at)
        if its < at and _has_room(c, d, channel, 1, place[0], place[1]):
            at, what = its, WRITES
    if p.waiting:
        ask = s.asks[channel, 0]
        its = max(ask[4] + 1, p.taken_at + 1, p.served_at)
        if its < at and _has_room(c, d, channel, 0, ask[2], ask[3]):
            at, what = its, TAKES
    its = grants_at(c, s, channel)
    if its < at:
        at, what = its, GRANTS
    return at, what


@inlined
def _serve(c: Shape, s: State, d: Channels, t: Timing, channel: int, now: int) -> bool:
    """An access is decided on; returns whether a block will be there."""
    p = s.managers[channel]
    p.serves_at = now + 1
    p.served_at = now
    tag, wrote, ready = serve(t, d, channel, float(now))
    if wrote or tag < 0:
        return False
    reader = tag // RING
    r = s.readers[reader]
    s.parts[reader, tag % RING] -= 1
    soonest = int(ready + t.controller) + 1
    ends = False
    while r.sent < r.bursts and s.parts[reader, r.sent % RING] == 0:
        if send(c, s, reader, r.sent, soonest):
            ends = True
        r.sent += 1
    return ends


@inlined
def _write(c: Shape, s: State, d: Channels, channel: int, now: int) -> None:
    """The controller takes a burst to write."""
    p = s.managers[channel]
    place = s.arriving[channel, p.taken_writes % PENDING]
    if d.count[channel, 0] + d.count[channel, 1] == 0:
        p.serves_at = max(p.serves_at, now + 1)
    _, moved = _requests(c, d, channel, 1, place[0], place[1], 0)
    p.written += moved
    p.taken_writes += 1
    answer(s, now + c.answer)


@inlined
def _take(c: Shape, s: State, d: Channels, channel: int, now: int) -> None:
    """The controller takes a burst to read."""
    p = s.managers[channel]
    ask = s.asks[channel, 0]
    if d.count[channel, 0] + d.count[channel, 1] == 0:
        p.serves_at = max(p.serves_at, now + 1)
    tag = ask[0] * RING + ask[1] % RING
    count, moved = _requests(c, d, channel, 0, ask[2], ask[3], tag)
    s.parts[ask[0], ask[1] % RING] = count
    p.read += moved
    p.before_at = p.taken_at
    p.taken_at = now
    p.waiting -= 1
    for field in range(5):
        s.asks[channel, 0, field] = s.asks[channel, 1, field]


@inlined
def _grant(c: Shape, s: State, channel: int, now: int) -> None:
    """A burst comes to ``ar``."""
    p = s.managers[channel]
    reader = grant(c, s, channel, now)
    r = s.readers[reader]
    burst = r.bursts - 1
    s.parts[reader, burst % RING] = _NOT_TAKEN
    ask = s.asks[channel, p.waiting]
    ask[0] = reader
    ask[1] = burst
    ask[2] = r.burst_address
    ask[3] = r.beats_now
    ask[4] = now
    p.waiting += 1


@inlined
def dram_event(
    c: Shape, s: State, d: Channels, t: Timing, channel: int, what: int, now: int
) -> bool:
    """Let it happen; returns whether a block has come, or a burst was written."""
    if what == SERVES:
        return _serve(c, s, d, t, channel, now)
    if what == WRITES:
        _write(c, s, d, channel, now)
        return True
    if what == TAKES:
        _take(c, s, d, channel, now)
    else:
        _grant(c, s, channel, now)
    return False
