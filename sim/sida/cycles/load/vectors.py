"""Cycle model of ``VectorLoader`` and its ``RowCut``."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .state import VECTORS

__all__ = ["vectors_offer", "vectors_step"]


@called
def _copy(into: Any, run: Any) -> None:
    into.first = run.first
    into.final = run.final
    into.whole = run.whole


@called
def vectors_offer(m: Any) -> None:
    """The beginning of a cycle: requests on their way to the reader and to the queue of runs, and
    whether another one may come."""
    port = m.ports[VECTORS]
    m.runs_put = 0
    if m.located_valid:
        if m.located_taken & 1 == 0 and port.accepts:
            port.asks = 1
            port.address = m.address
            port.bytes = m.bytes
            m.located_taken |= 1
        if m.located_taken & 2 == 0 and m.runs_level != m.outstanding:
            m.runs_put = 1
            _copy(m.put, m.located)
            m.located_taken |= 2
        if m.located_taken == 3:
            m.located_taken = 0
            m.located_valid = 0
    if m.chosen_valid and not m.located_valid:
        m.located_valid = 1
        m.address = m.origin + (m.lower << m.value_shift)
        m.bytes = m.upper - m.lower << m.value_shift
        _copy(m.located, m.chosen)
        m.chosen_valid = 0
    m.requests.ready = m.chosen_valid == 0 and m.vectors_pending != m.outstanding
    m.loaded.valid = m.row_valid != 0 and m.row_whole == 0


@called
def _choose(m: Any) -> bool:
    """Rows of one of the vectors, or a vector in whole; whether something was asked for."""
    if not m.requests.ready:
        return False
    places = m.line_rows - 1
    chosen, asked, whole = m.chosen, m.requests, m.whole
    if asked.valid:
        first = asked.base >> m.pes_shift
        m.origin = m.bases[asked.vector]
        m.lower = (first & ~places) << m.pes_shift
        m.upper = min(m.rows, asked.base + (asked.rows << m.pes_shift))
        chosen.first = first & places
        chosen.final = first + asked.rows - 1 & places
        chosen.whole = 0
    elif whole.valid:
        m.origin = whole.address
        m.lower = 0
        m.upper = whole.columns
        chosen.first = 0
        chosen.final = (whole.columns - 1 >> m.pes_shift) & places
        chosen.whole = 1
    else:
        return False
    m.chosen_valid = 1
    return True


@called
def _cut(m: Any, free: bool) -> tuple[bool, bool]:
    """Of a run and a line that are there: whether they make a row, and whether that is the last.
    ``free``: a row may come to the output."""
    port = m.ports[VECTORS]
    if m.line_rows > 1:
        place = m.row_place if m.row_within else m.run.first
        ends = port.last != 0 and place == m.run.final
        port.takes = free and (ends or place == m.line_rows - 1)
        if free:
            m.row_within = not ends
            m.row_place = place + 1 & m.line_rows - 1
        return free, ends
    complete = port.last != 0 or m.row_place == m.row_lines - 1
    port.takes = free or not complete
    if port.takes:
        m.row_place = 0 if complete else m.row_place + 1
    return free and complete, port.last != 0


@called
def vectors_step(m: Any, rows_ready: bool) -> None:
    """A cycle; ``rows_ready``: a row of a vector in whole may go."""
    came = _choose(m)
    ready = rows_ready if m.row_whole else m.loaded.ready != 0
    left = m.row_valid != 0 and ready and m.row_last != 0
    free = ready or not m.row_valid
    if free:
        m.row_valid = 0
    takes_run = False
    if m.runs_valid and m.ports[VECTORS].line:
        makes, ends = _cut(m, free)
        if makes:
            m.row_valid = 1
            m.row_whole = m.run.whole
            m.row_last = ends
            m.row_first = m.row_base
            m.row_base = 0 if ends else m.row_base + m.pes
            takes_run = ends
    reads = m.runs_level != 0 and (takes_run or not m.runs_valid)
    if takes_run:
        m.runs_valid = 0
    if reads:
        m.runs_valid = 1
        _copy(m.run, m.runs[m.runs_out])
        m.runs_out = m.runs_out + 1 if m.runs_out + 1 < m.outstanding else 0
        m.runs_level -= 1
    if m.runs_put:
        _copy(m.runs[m.runs_in], m.put)
        m.runs_in = m.runs_in + 1 if m.runs_in + 1 < m.outstanding else 0
        m.runs_level += 1
    m.vectors_pending += came - left
