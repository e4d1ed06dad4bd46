"""Cycle model of ``ColumnLoader``: what is read, and the windows of the columns' ends."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .entries import entries_step
from .sets import cut_step, forget_sets, leaves_step
from .state import POINTERS, ROWS, VALUES, WORD_BYTES

__all__ = ["columns_idle", "columns_step"]

_RUN, _ASK, _LOOK, _KNOWN = range(4)


@called
def columns_idle(m: Any) -> bool:
    """Beside the bus."""
    return m.columns_busy == 0


@called
def _ask_for_the_last(m: Any) -> None:
    """The last pointer, with what is before it in its line."""
    line = m.line_bytes // WORD_BYTES
    place = m.rows & line - 1
    pointers = m.entries[POINTERS]
    pointers.asks = 1
    pointers.address = m.column_pointers + (m.rows - place) * WORD_BYTES
    pointers.bytes = (place + 1) * WORD_BYTES
    pointers.count = (place >> m.pes_shift) + 1


@called
def _ask_for_all(m: Any) -> None:
    pointers, rows, values = m.entries[POINTERS], m.entries[ROWS], m.entries[VALUES]
    pointers.asks = 1
    pointers.address = m.column_pointers
    pointers.bytes = (m.rows + 1) * WORD_BYTES
    pointers.count = (m.rows >> m.pes_shift) + 1
    if not m.elements:
        return
    rows.asks = 1
    rows.address = m.row_numbers
    rows.bytes = m.elements * WORD_BYTES
    values.asks = 1
    values.address = m.column_values
    values.bytes = m.elements * m.value_bytes
    rows.count = m.elements + m.pes - 1 >> m.pes_shift
    values.count = rows.count


@called
def _ends_step(m: Any, given: bool, last: bool, ready: bool) -> bool:
    """Windows of the pointers that are ``given``; whether those are taken. ``ready``: the window
    that is made may go."""
    free = ready or not m.made_valid
    offers = m.holds != 0 and (m.closes != 0 or given)
    takes = not m.closes and (not m.holds or free)
    if free:
        m.made_valid = offers
        m.made = m.column
    if offers and free:
        m.column += m.pes
    if given and takes:
        alone = m.rows & m.pes - 1 == 0
        m.holds = not (last and alone)
        m.closes = last and not alone
    elif offers and free:
        m.holds = 0
        m.closes = 0
    return takes


@called
def columns_step(m: Any, pointers: Any, rows: Any) -> None:
    """A cycle of all of it, behind ``set.ready``; ``pointers``, ``rows``: of the matrix."""
    starts = m.columns_start != 0
    if not m.columns_busy and not starts:
        return
    ends, last = m.entries[POINTERS], m.set.final != 0
    took_final = m.set.valid != 0 and m.set.ready != 0 and last
    cut_ready = leaves_step(m, rows, pointers)
    blocks = m.entries[ROWS].valid != 0 and m.entries[VALUES].valid != 0
    goes, takes_window = cut_step(m, pointers, blocks, cut_ready)
    looks = m.columns_state == _ASK or m.columns_state == _LOOK
    given = ends.valid != 0 and not looks
    found = ends.valid != 0 and ends.last != 0
    takes = _ends_step(m, given, found, takes_window)
    state = m.columns_state
    if state == _ASK and not ends.asks:
        _ask_for_the_last(m)
    asked = entries_step(ends, m.ports[POINTERS], m.line_bytes, takes or looks)
    entries_step(m.entries[ROWS], m.ports[ROWS], m.line_bytes, goes)
    entries_step(m.entries[VALUES], m.ports[VALUES], m.line_bytes, goes)
    if state == _ASK and asked:
        m.columns_state = _LOOK
    elif state == _LOOK and found:
        m.elements = pointers[m.rows]
        m.columns_state = _KNOWN
    elif state == _KNOWN:
        _ask_for_all(m)
        forget_sets(m)
        m.columns_state = _RUN
    if took_final:
        m.columns_busy = 0
    if starts:
        m.columns_busy = 1
        m.columns_state = _ASK
        m.holds = 0
        m.closes = 0
        m.column = 0
        m.made_valid = 0
        m.first_valid = 0
        m.second_valid = 0
