"""Cycle model of ``RowLoader``, of a matrix that is right: panels to slices, and where rows end."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .queues import queue_step
from .reloads import elements_step, reload_cut_step, window_is_free
from .slices import AHEAD, slice_offer, slice_step, slice_valid
from .state import AGAIN

__all__ = ["rows_offer", "rows_step"]

_MOST_PANELS = 2 * AHEAD
_POINTERS, _COLUMNS, _VALUES = range(3)


@called
def _ranges(m: Any) -> None:
    """A panel's elements to the readers of both arrays."""
    found = m.found
    if not found.valid:
        return
    if found.lower < found.upper:
        for number in range(_COLUMNS, _VALUES + 1):
            if not m.ranges_taken >> number & 1:
                address = m.column_numbers if number == _COLUMNS else m.row_values
                part, port = m.slices[number], m.ports[AGAIN + number]
                if slice_offer(m, part, port, address, found.lower, found.upper):
                    m.ranges_taken |= 1 << number
        if m.ranges_taken != 1 << _COLUMNS | 1 << _VALUES:
            return
        m.ranges_taken = 0
    found.valid = 0


@called
def rows_offer(m: Any) -> None:
    """The beginning of a cycle: requests on their way, and whether another one may come."""
    m.coming_puts = 0
    if m.panels_inside or m.found.valid:
        _ranges(m)
    asked, coming = m.asked, m.coming
    if asked.valid:
        row = asked.panel << m.step_shift
        rows = min(m.rows - row, m.subtensor)
        if m.panels_taken & 1 == 0 and coming.level != AHEAD:
            panel = m.coming_panels[coming.tail]
            panel.row = row
            panel.rows = rows
            panel.columns = asked.columns
            m.coming_puts = 1
            m.panels_taken |= 1
        if m.panels_taken & 2 == 0:
            part, port = m.slices[_POINTERS], m.ports[AGAIN]
            if slice_offer(m, part, port, m.row_pointers, row, row + rows + 1):
                m.panels_taken |= 2
        if m.panels_taken == 3:
            m.panels_taken = 0
            asked.valid = 0
    m.again.ready = asked.valid == 0 and m.panels_inside != _MOST_PANELS


@called
def _windows(m: Any, pointers: Any, ready: bool) -> bool:
    """A window of rows to the next part, if that is ``ready``; a block of pointers from the reader:
    whether one may come."""
    coming, known, waiting = m.coming, m.known, m.lengths
    part = m.slices[_POINTERS]
    takes = waiting.level != m.lengths_depth and coming.valid != 0 and known.level != AHEAD
    takes = takes and m.found.valid == 0
    came = takes and slice_valid(part)
    ends = came and part.last != 0
    if ends:
        panel, into = m.coming_panels[coming.at], m.known_panels[known.tail]
        into.row = panel.row
        into.rows = panel.rows
        into.columns = panel.columns
        into.upper = pointers[panel.row + panel.rows]
        m.found.valid = 1
        m.found.lower = pointers[panel.row]
        m.found.upper = into.upper
    last = False
    leaves = False
    moves = False
    if m.rows_held:
        panel = m.known_panels[known.at]
        left = panel.rows - m.rows_gone
        whole = left >= m.pes
        last = left <= m.pes
        moves = ready and (not whole or waiting.valid != 0)
        leaves = moves and whole
        if moves:
            window = m.window
            window.valid = 1
            window.row = panel.row + m.rows_gone
            window.begin = pointers[window.row]
            window.end = pointers[window.row + min(left, m.pes)]
            window.columns = panel.columns
            window.last = last
            window.some = pointers[panel.row] != panel.upper
            m.rows_held = not last
            m.rows_gone = 0 if last else m.rows_gone + m.pes
    elif known.valid and waiting.valid:
        leaves = True
        m.rows_held = 1
    queue_step(coming, AHEAD, ends, m.coming_puts != 0)
    queue_step(known, AHEAD, moves and last, ends)
    queue_step(waiting, m.lengths_depth, leaves, came)
    return bool(takes)


@called
def rows_step(m: Any, pointers: Any, columns: Any) -> None:
    """A cycle; ``pointers``, ``columns``: of the matrix by rows."""
    comes = m.again.valid != 0 and m.again.ready != 0
    if not m.panels_inside and not comes:
        return
    left = m.reload.valid != 0 and m.reload.ready != 0 and m.reload.last != 0
    part_ready = elements_step(m, columns)
    there = slice_valid(m.slices[_COLUMNS]) and slice_valid(m.slices[_VALUES])
    blocks_ready = reload_cut_step(m, there, part_ready)
    takes = blocks_ready and there
    slice_step(m, m.slices[_COLUMNS], m.ports[AGAIN + _COLUMNS], takes)
    slice_step(m, m.slices[_VALUES], m.ports[AGAIN + _VALUES], takes)
    pointers_ready = _windows(m, pointers, window_is_free(m))
    slice_step(m, m.slices[_POINTERS], m.ports[AGAIN], pointers_ready)
    if comes:
        m.asked.valid = 1
        m.asked.panel = m.again.panel
        m.asked.columns = m.again.columns
    m.panels_inside += comes - left
