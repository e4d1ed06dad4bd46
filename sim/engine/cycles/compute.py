"""Cycle model of sequencer, feeder and matrix unit: when the operations of a chunk take place."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import KNOWN, NEVER, RESULTS, Shape, State

__all__ = ["compute_chunk"]


@inlined
def _tiles(s: State) -> int:
    """Of the block at hand."""
    u = s.unit
    down = u.down_end if u.i == u.i_last else u.down
    across = u.across_end if u.j == u.j_last else u.across
    return down * across


@inlined
def _soonest(c: Shape, s: State) -> int:
    """The first cycle in which the chunk at hand may begin; `NEVER` if that is not known yet."""
    u = s.unit
    if u.done or s.readers[0].loaded <= u.chunk or s.readers[1].loaded <= u.chunk:
        return NEVER
    place = u.chunk % KNOWN
    soonest = max(s.loaded[0, place], s.loaded[1, place]) + 1
    if u.k == 0:
        if c.use_c:
            if s.readers[2].loaded <= u.block:
                return NEVER
            soonest = max(soonest, s.loaded[2, u.block % KNOWN] + 1)
        elif u.block >= 2:
            if s.store.stored <= u.block - 2:
                return NEVER
            soonest = max(soonest, s.stored[(u.block - 2) % KNOWN] + 1)
    return soonest


@inlined
def _operation(c: Shape, s: State, soonest: int) -> int:
    """One operation, from when on it may leave the sequencer; returns when it does."""
    u = s.unit
    # The feeder's register is free when the operation before has been accepted.
    left = max(soonest, u.accepted_at)
    if c.staged:
        accepted = max(left + 1, u.begun_at)
        u.begun_at = max(accepted + 1, u.begun_at + c.interval)
    else:
        accepted = max(left + 1, u.begun_at + c.interval)
        u.begun_at = accepted
    u.accepted_at = accepted
    u.busy += accepted - left
    return left


@inlined
def _together(c: Shape, s: State, soonest: int, count: int) -> int:
    """As many operations that wait for no sum; returns when the last one leaves."""
    u = s.unit
    left = _operation(c, s, soonest)
    if count > 1:
        # The second operation of a staged unit is accepted when the first one begins.
        first = u.begun_at if c.staged else u.begun_at + c.interval
        last = first + (count - 2) * c.interval
        left = last - c.interval if count > 2 else u.accepted_at
        u.busy += last - u.accepted_at
        u.accepted_at = last
        u.begun_at += (count - 1) * c.interval
    return left


@inlined
def _one_by_one(c: Shape, s: State, soonest: int, count: int, tiles: int) -> int:
    """As many operations of which each waits for the sum before it; returns when the last one
    leaves."""
    u = s.unit
    left = soonest
    for _ in range(count):
        if u.in_block >= tiles:
            soonest = max(soonest, s.results[(u.in_block - tiles) % RESULTS] + 1)
        left = _operation(c, s, soonest)
        s.results[u.in_block % RESULTS] = u.begun_at + c.latency - c.staged
        u.in_block += 1
    return left


@inlined
def compute_chunk(c: Shape, s: State) -> bool:
    """The next chunk, if it is known when it may begin; returns whether it is."""
    soonest = _soonest(c, s)
    if soonest == NEVER:
        return False
    u = s.unit
    tiles = _tiles(s)
    count = tiles * (u.deep_end if u.k == u.k_last else u.deep)
    if u.operations == 0:
        u.first_at = max(soonest, 1) + 1
    if (tiles - 2) * c.interval > c.latency:
        left = _together(c, s, soonest, count)
    else:
        left = _one_by_one(c, s, soonest, count, tiles)
    u.operations += count
    place = u.chunk % KNOWN
    for reader in range(2):
        s.freed[reader, place] = left
        s.readers[reader].freed += 1
    u.chunk += 1
    if u.k < u.k_last:
        u.k += 1
        return True
    s.computed[u.block % KNOWN] = u.begun_at + c.latency - c.staged
    s.store.computed += 1
    u.block += 1
    u.in_block = 0
    u.k = 0
    if u.j < u.j_last:
        u.j += 1
    else:
        u.j = 0
        u.done = u.i == u.i_last
        u.i += 1
    return True
