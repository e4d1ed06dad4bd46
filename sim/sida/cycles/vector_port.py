"""Cycle model of ``VectorLoader`` and its ``RowCut``."""

from __future__ import annotations

from typing import Any

from ....hw.spec.elementwise.instructions import SCALARS
from ...timing.compiled import called, inlined
from ...timing.parts import ring_step
from ...timing.striped.memory import Bus
from ...timing.striped.writer import put_extent, put_line, takes_extent, takes_line, writer_idle
from .load_state import VECTORS

_PIECES = 4
"""Pieces that wait for their request's channel, as in the hardware."""


@inlined
def stores_idle(m: Any, b: Bus) -> bool:
    """Tells whether no store is in flight; valid at the beginning of a cycle."""
    return writer_idle(b) and m.join_valid == 0 and m.piece.valid == 0


@inlined
def _send(m: Any, b: Bus) -> bool:
    """A line of the piece at hand to the writer; whether the piece goes with it."""
    if not (m.pieces_valid and takes_line(b)):
        return False
    put_line(b)
    left = m.pieces_bytes - m.pieces_number * m.line_bytes
    if left <= m.line_bytes:
        m.pieces_number = 0
        return True
    m.pieces_number += 1
    return False


@inlined
def stores_offer(m: Any, b: Bus) -> None:
    """Drives the stores at the start of a cycle: pieces in flight, and whether another row fits."""
    deep = b.c.stages > 1
    level = m.pieces_level
    goes = _send(m, b)
    if goes:
        m.pieces_valid = 0
    if deep and level and not m.pieces_valid:
        m.pieces_valid = 1
        m.pieces_bytes = m.pieces[m.pieces_out]
        m.pieces_out = m.pieces_out + 1 & _PIECES - 1
        m.pieces_level -= 1
    piece = m.piece
    if piece.valid:
        if m.piece_taken & 1 == 0 and takes_extent(b):
            put_extent(b, piece.address, piece.bytes)
            m.piece_taken |= 1
        if m.piece_taken & 2 == 0:
            if deep and level != _PIECES:
                m.pieces[m.pieces_in] = piece.bytes
                m.pieces_in = m.pieces_in + 1 & _PIECES - 1
                m.pieces_level += 1
                m.piece_taken |= 2
            if not deep and not m.pieces_valid:
                m.pieces_valid = 1
                m.pieces_bytes = piece.bytes
                m.piece_taken |= 2
        if m.piece_taken == 3:
            m.piece_taken = 0
            piece.valid = 0
    if m.join_valid:
        _join(m)
    m.stored.ready = m.join_valid == 0


@called
def _join(m: Any) -> None:
    """A row leaves, with its line if that is complete."""
    rows = m.line_rows
    number = m.join_base >> m.pes_shift
    ends = m.join_base + m.pes >= m.join_columns
    if not ends and number & rows - 1 != rows - 1:
        m.join_valid = 0
    elif not m.piece.valid:
        begin = (number & ~(rows - 1)) << m.pes_shift
        m.piece.valid = 1
        m.piece.address = m.join_origin + (begin << m.value_shift)
        m.piece.bytes = rows << m.pes_shift + m.value_shift
        if ends:
            m.piece.bytes = m.join_columns - begin << m.value_shift
        m.join_valid = 0


@called
def stores_step(m: Any) -> bool:
    """A cycle, in which a row may come, of a vector or of the scalars; whether that is taken."""
    if m.stored.valid and m.stored.ready:
        m.join_valid = 1
        m.join_origin = m.bases[m.stored.vector]
        m.join_columns = m.rows
        m.join_base = m.stored.base
        return False
    if m.scalars_given and m.stored.ready:
        m.join_valid = 1
        m.join_origin = m.scalars
        m.join_columns = SCALARS
        m.join_base = m.scalars_base
        m.scalars_base = m.scalars_base + m.pes & SCALARS - 1
        return True
    return False


@called
def _copy(into: Any, run: Any) -> None:
    into.first = run.first
    into.final = run.final
    into.whole = run.whole


@called
def vectors_offer(m: Any) -> None:
    """Drives the requests at the start of a cycle, to the reader and to the queue of runs, and
    whether another one fits."""
    port = m.ports[VECTORS]
    m.runs_put = 0
    if m.located_valid:
        if m.located_taken & 1 == 0 and port.accepts:
            port.asks = 1
            port.address = m.address
            port.bytes = m.bytes
            m.located_taken |= 1
        if m.located_taken & 2 == 0 and m.run_queue.level != m.outstanding:
            m.runs_put = 1
            _copy(m.runs[m.run_queue.tail], m.located)
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
    """Cuts the current line at the end of the current run. Returns whether the two make a row, and
    whether that is the last. ``free``: the output accepts a row."""
    port, run = m.ports[VECTORS], m.runs[m.run_queue.at]
    if m.line_rows > 1:
        place = m.row_place if m.row_within else run.first
        ends = port.last != 0 and place == run.final
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
    """Advances one cycle; ``rows_ready``: a row of a whole vector may be sent."""
    came = _choose(m)
    ready = rows_ready if m.row_whole else m.loaded.ready != 0
    left = m.row_valid != 0 and ready and m.row_last != 0
    free = ready or not m.row_valid
    if free:
        m.row_valid = 0
    takes_run = False
    if m.run_queue.valid and m.ports[VECTORS].line:
        makes, ends = _cut(m, free)
        if makes:
            m.row_valid = 1
            m.row_whole = m.runs[m.run_queue.at].whole
            m.row_last = ends
            m.row_first = m.row_base
            m.row_base = 0 if ends else m.row_base + m.pes
            takes_run = ends
    ring_step(m.run_queue, m.outstanding, m.runs_put != 0, takes_run)
    m.vectors_pending += came - left
