"""Cycle model of ``LaneLoader``: beats to chunks, chunks to the lanes."""

from __future__ import annotations

from ...timing.compiled import inlined
from .results import writes_results
from .state import OPERANDS, Gta
from .walk import advance, begin

__all__ = ["deal"]

_LOADS = 0


@inlined
def deal(g: Gta, now: int) -> bool:
    """A cycle of the way from the reader to the lanes; returns whether a LOAD's last chunk is on
    its way."""
    m, w, r = g.m[0], g.walks[_LOADS], g.b.readers[OPERANDS]
    ready = True
    m.loaded = 0
    if m.chunk:
        ready = m.chunk_result == 0 or not writes_results(g, m.chunk_lane, now)
        if not ready:
            m.waits = 1
        elif m.chunk_ends:
            m.loaded = 1
    moves = r.valid != 0 and w.active != 0 and ready
    r.takes = 0
    finished = False
    if ready:
        m.chunk = moves
    if moves:
        last_of_row = w.bytes_left <= g.c.chunk
        last_of_beat = (w.at + g.c.chunk) % g.b.c.beat == 0
        r.takes = last_of_row or last_of_beat
        m.chunk_lane = w.lane
        m.chunk_result = g.commands[w.held_command].result
        finished = advance(g, _LOADS, g.c.chunk)
        m.chunk_ends = finished
    begin(g, _LOADS, finished)
    return finished
