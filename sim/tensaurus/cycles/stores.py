"""Cycle model: tiles of an output one after the other, and the output to memory."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called
from ...timing.parts import gear, gear_is_ready, queue_step
from .state import FOUND, OUTPUT

# Cycle model: sums in memory. Units are read, added to, and written, many at a time.
#
# Everything is first in, first out, so that a unit is its number: the one whose turn it is at each
# place. The columns never wait, and need no model.


@called
def _blocks(m: Any, line: int) -> int:
    """Returns the number of blocks in a line of a unit."""
    first = line * m.sum_line_blocks
    return int(min(m.sum_line_blocks, m.sum_blocks - first))


@called
def write_sums(m: Any) -> None:
    """A cycle of the sums on their way to the writer: ``puts_line`` says whether a line leaves."""
    takes = m.sums.valid != 0 and m.line_accepts != 0
    ends = takes and m.sum_line + 1 == m.sum_lines
    m.puts_line = takes
    if takes:
        behind = m.result_unit_bytes - m.sum_line * m.line_bytes
        m.sent += min(behind, m.line_bytes)
        m.sum_line = 0 if ends else m.sum_line + 1
    queue_step(m.sums, (m.adding >> m.adding_last & 1) != 0, ends)


@called
def _is_answered(m: Any) -> bool:
    """Returns whether memory has answered all blocks of the oldest line."""
    if not m.written.valid:
        return False
    block = m.sum_at[m.sums_done & (m.sum_slots - 1)] + m.answer_line
    channel = block * m.sum_line_blocks % m.sum_channels
    for _ in range(_blocks(m, m.answer_line)):
        if m.answers[channel] == m.answers_used[channel]:
            return False
        channel = channel + 1 if channel + 1 < m.sum_channels else 0
    return True


@called
def _answers(m: Any) -> bool:
    """A cycle of the lines that were written; whether a unit is in memory."""
    goes = _is_answered(m)
    done = False
    if goes:
        block = m.sum_at[m.sums_done & (m.sum_slots - 1)] + m.answer_line
        channel = block * m.sum_line_blocks % m.sum_channels
        for _ in range(_blocks(m, m.answer_line)):
            m.answers_used[channel] += 1
            channel = channel + 1 if channel + 1 < m.sum_channels else 0
        m.answer_line += 1
        done = m.answer_line == m.sum_lines
    if done:
        m.answer_line = 0
        m.sums_done += 1
    queue_step(m.written, m.puts_line != 0, goes)
    return done


@called
def _meets(m: Any) -> bool:
    """Returns whether the unit that is requested next is already in flight."""
    if m.meets_of != m.sums_asked:
        # It waits for the latest one; none that comes later passes it.
        m.meets_of = m.sums_asked
        m.meets = -1
        wanted = m.sum_at[m.sums_asked & (m.sum_slots - 1)]
        for number in range(m.sums_done, m.sums_asked):
            if m.sum_at[number & (m.sum_slots - 1)] == wanted:
                m.meets = number
    return bool(m.meets >= m.sums_done)


@called
def _ask(m: Any) -> None:
    """Units to the reader, and their addresses to the writer, whose port has taken what it is
    given (``walk_asks``) or not."""
    port = m.ports[OUTPUT]
    goes = m.units.valid != 0 and port.accepts != 0 and not _meets(m)
    if goes:
        port.asks = 1
        port.address = m.sum_at[m.sums_asked & (m.sum_slots - 1)] * m.line_bytes
        port.bytes = m.result_unit_bytes
        m.sums_asked += 1
    queue_step(m.units, (m.coming >> FOUND & 1) != 0, goes)
    extent = m.extents_queued != 0 and not m.walk_asks
    if extent:
        m.walk_asks = 1
        m.walk_address = m.sum_at[m.extents & (m.sum_slots - 1)] * m.line_bytes
        m.walk_bytes = m.result_unit_bytes
        m.extents += 1
    m.extents_queued += goes - extent


@called
def add_sums(m: Any) -> None:
    """A cycle of all else, behind that of the writer's ports."""
    port = m.ports[OUTPUT]
    _ask(m)
    adds = port.line != 0 and port.last != 0 and m.vectors_there != 0
    port.takes = port.line != 0 and (not port.last or m.vectors_there != 0)
    m.vectors_there += (m.coming >> m.landing_last & 1) - adds
    m.adding = (m.adding << 1 | adds) & m.delays_mask
    if _answers(m):
        m.sums_under_way -= 1


@called
def leave_for_memory(m: Any, tiles: Any) -> None:
    """The end of a cycle in which a vector left a row (``leaves``), or none did."""
    if m.leaves:
        first = tiles[m.store_tile].output // m.line_bytes
        m.sum_at[m.sums_left & (m.sum_slots - 1)] = first + m.left_unit * m.sum_lines
        m.sums_left += 1
        m.sums_under_way += 1
    m.coming = (m.coming << 1 | m.leaves) & m.delays_mask
    m.leaves = 0
    m.hold = m.sums_under_way == m.sum_slots


_TAKE, _DRAIN, _SETTLE, _TURN, _EMPTY = range(5)
_TILES_SKID = 2
_OUTPUT = 3
_SEEN = 3
"""Cycles from the end of a tile at a row's head to the register that has seen all of them."""
_ENDLESS = 1 << 62
"""Lines that are wanted: as many as there may be."""


@called
def walks(m: Any) -> bool:
    """Returns whether an output is being written."""
    return bool(m.walk_asks or m.walk_at < m.walk_units or m.owed or m.clears)


@called
def is_finished(m: Any) -> bool:
    """Returns whether the job's last output is in memory."""
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
            m.store_tile = source.place
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
