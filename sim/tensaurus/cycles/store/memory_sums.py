"""Cycle model: sums in memory. Units are read, added to, and written, many at a time.

Everything is first in, first out, so that a unit is its number: the one whose turn it is at each
place. The columns never wait, and need no model.
"""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from ..load.state import OUTPUT

__all__ = ["add_sums", "leave_for_memory", "write_sums"]

_FOUND = 3
"""A unit's address is in its queue so many cycles behind the register of what leaves a row."""


@called
def _blocks(m: Any, line: int) -> int:
    """Of a line of a unit, those that it has a part in."""
    first = line * m.sum_line_blocks
    return int(min(m.sum_line_blocks, m.sum_blocks - first))


@called
def write_sums(m: Any) -> None:
    """A cycle of the sums on their way to the writer: ``puts_line`` says whether a line leaves."""
    takes = m.unit_valid != 0 and m.line_accepts != 0
    ends = takes and m.sum_line + 1 == m.sum_lines
    reads = m.sums_there != 0 and (ends or not m.unit_valid)
    m.puts_line = takes
    if takes:
        behind = m.result_unit_bytes - m.sum_line * m.line_bytes
        m.sent += min(behind, m.line_bytes)
        m.sum_line = 0 if ends else m.sum_line + 1
    m.unit_valid = reads or (m.unit_valid and not ends)
    m.sums_there += (m.adding >> m.adding_last & 1) - reads


@called
def _is_answered(m: Any) -> bool:
    """Whether memory has all blocks of the oldest line."""
    if not m.written_there:
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
    reads = m.written_queued != 0 and (goes or not m.written_there)
    m.written_there = reads or (m.written_there and not goes)
    m.written_queued += m.puts_line - reads
    return done


@called
def _meets(m: Any) -> bool:
    """Whether the unit that is asked for next is under way already."""
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
    goes = m.units_there != 0 and port.accepts != 0 and not _meets(m)
    if goes:
        port.asks = 1
        port.address = m.sum_at[m.sums_asked & (m.sum_slots - 1)] * m.line_bytes
        port.bytes = m.result_unit_bytes
        m.sums_asked += 1
    reads = m.units_queued != 0 and (goes or not m.units_there)
    m.units_there = reads or (m.units_there and not goes)
    m.units_queued += (m.coming >> _FOUND & 1) - reads
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
