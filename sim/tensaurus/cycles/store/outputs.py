"""Cycle model: tiles of an output one after the other, and the output to memory."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from ....timing.gearbox import gear, gear_is_ready

__all__ = ["is_finished", "store_tiles", "walk_output", "walks"]

_TAKE, _DRAIN, _SETTLE, _TURN, _EMPTY = range(5)
_TILES_SKID = 2
_OUTPUT = 3
_SEEN = 3
"""Cycles from the end of a tile at a row's head to the register that has seen all of them."""
_ENDLESS = 1 << 62
"""Lines that are wanted: as many as there may be."""


@called
def walks(m: Any) -> bool:
    """Whether an output is being written."""
    return bool(m.walk_asks or m.walk_at < m.walk_units or m.owed or m.clears)


@called
def is_finished(m: Any) -> bool:
    """Whether the job's last output is in memory."""
    return bool(m.output_ended and m.storing == _TAKE and not walks(m) and m.writer_idle)


@called
def walk_output(m: Any) -> None:
    """A cycle of the walk over an output: ``puts_line`` says whether a line leaves."""
    cut = m.gears[_OUTPUT]
    unread, owed = m.unread, m.owed
    takes = cut.valid != 0 and owed != 0 and m.line_accepts != 0
    ends = takes and owed <= m.line_bytes
    there = m.unit_valid != 0 or (unread == 0 and owed != 0)
    free = gear_is_ready(cut, owed != 0, m.line_bytes, m.result_unit_bytes, takes)
    gear(cut, owed != 0, _ENDLESS, m.line_bytes, m.result_unit_bytes, there, takes)
    reads = unread != 0 and (free or not m.unit_valid)
    steps = reads or (unread == 0 and m.walk_at < m.walk_units)
    m.puts_line = takes
    if takes:
        m.sent += owed if ends else m.line_bytes
        m.owed = 0 if ends else owed - m.line_bytes
    if ends:
        cut.valid = 0
        cut.level = 0
        cut.left = 0
    m.unit_valid = reads or (m.unit_valid and not free)
    m.clears = steps
    if steps:
        m.walk_at += 1
    if reads:
        m.unread = max(0, unread - m.result_unit_bytes)


@called
def _turn(m: Any, tile: Any) -> None:
    """The output is complete: it is written, and the next one begun."""
    m.walk_asks = 1
    m.walk_address = tile.output
    m.walk_bytes = tile.slices * m.slice_bytes
    m.walk_at = 0
    m.walk_units = m.touched
    m.unread = m.walk_bytes
    m.owed = m.walk_bytes
    m.touched = 0
    m.output_ended = m.store_tile == m.tiles - 1
    m.storing = _TAKE


@called
def store_tiles(m: Any, tiles: Any, busy: bool, now: int) -> None:
    """A cycle of the tiles; ``busy``: whether an output was being written at its beginning."""
    source = m.skids[_TILES_SKID]
    m.opens = 0
    if m.storing == _TAKE:
        if source.valid:
            source.takes = 1
            m.opens = 1
            m.drained = 0
            m.store_tile = source.value
            m.storing = _DRAIN
    elif m.storing == _DRAIN:
        if m.drained == m.height and now >= m.drained_at + _SEEN:
            m.storing = _SETTLE
            m.wait = m.settling
            if m.direct:
                m.storing = _EMPTY if m.store_tile == m.tiles - 1 else _TAKE
    elif m.storing == _SETTLE:
        if m.wait == 0:
            m.storing = _TURN if tiles[m.store_tile].last & 1 else _TAKE
        m.wait -= 1
    elif m.storing == _EMPTY:
        if not m.sums_under_way:
            m.output_ended = 1
            m.storing = _TAKE
    elif not busy:
        _turn(m, tiles[m.store_tile])
