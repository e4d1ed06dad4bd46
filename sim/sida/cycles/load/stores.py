"""Cycle model of ``VectorWriter`` and its ``RowJoin``."""

from __future__ import annotations

from typing import Any

from .....hw.spec.elementwise.instructions import SCALARS
from ....timing.compiled import called, inlined
from ....timing.striped.state import Bus
from ....timing.striped.writer import put_extent, put_line, takes_extent, takes_line, writer_idle

__all__ = ["stores_idle", "stores_offer", "stores_step"]

_PIECES = 4
"""As in the hardware: those that wait for their request's channel."""


@inlined
def stores_idle(m: Any, b: Bus) -> bool:
    """In this cycle; to be asked at its beginning."""
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
    """The beginning of a cycle: pieces on their way, and whether another row may come."""
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
