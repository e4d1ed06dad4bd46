"""Cycle model: a dense tensor's lines, and the slots that rows make of them."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from ..array.step import END, HEADER, VALUE
from .row_queue import put_slot, row_is_free
from .state import TENSOR

__all__ = ["dense_row_step", "lines_step", "walk_step"]

_REQUESTS, _PLACES = range(2)


@called
def walk_step(m: Any, walk: Any, tiles: Any, number: int, ready: bool) -> bool:
    """A cycle of a walk over tile ``number`` (-1: none is there), whose line is taken if it is
    ``ready``; whether the tile is."""
    if not walk.active:
        if number >= 0:
            tile = tiles[number]
            walk.active = 1
            walk.slices = tile.slices
            walk.elements = tile.elements
            walk.group = walk.line = walk.address = tile.tensor
            walk.row = 0
            walk.pitch = tile.pitch
        return False
    if not ready:
        return False
    values = m.line_bytes // m.value_bytes
    last_row = walk.row + 1 in (m.height, walk.slices)
    last_line = walk.elements <= values
    last_group = walk.slices <= m.height
    walk.row += 1
    walk.address += walk.pitch
    if last_row:
        walk.row = 0
        walk.line = walk.line + m.line_bytes
        walk.elements -= values
        if last_line:
            walk.line = walk.group = walk.group + walk.pitch * m.height
            walk.elements = tiles[number].elements
            walk.slices -= m.height
            walk.active = not last_group
        walk.address = walk.line
    return last_row and last_line and last_group


@called
def _next_place(m: Any, row: Any, tile: Any) -> bool:
    """The indices go on; whether the value was the slice's last."""
    ends = True
    if m.order > 3:
        row.at_2 += 1
        ends = row.at_2 == tile.size_3
        if ends:
            row.at_2 = 0
    if ends and m.order > 2:
        row.at_1 += 1
        ends = row.at_1 == tile.size_2
        if ends:
            row.at_1 = 0
    if ends:
        row.at_0 += 1
        ends = row.at_0 == tile.size_1
        if ends:
            row.at_0 = 0
    return ends


@called
def dense_row_step(m: Any, row: Any, number: int, tiles: Any, tile: int) -> bool:
    """A cycle of a row, before its line comes; ``tile``: -1 if it has none. Whether it is taken.
    ``line`` says afterwards whether the line in the row's register stays."""
    if tile < 0:
        return False
    over = row.heads != 0 and row.slice_first + number >= tiles[tile].slices
    if not ((row.heads or row.line) and row_is_free(m, row)):
        return False
    slot = row.slot
    if over:
        slot.kind = END
        row.slice_first = 0
        row.place = 0
    elif row.heads:
        slot.kind = HEADER
        slot.index_0 = row.slice_first + number
        row.heads = 0
    else:
        slot.kind = VALUE
        slot.index_0, slot.index_1, slot.index_2 = row.at_0, row.at_1, row.at_2
        row.place += 1
        ends = _next_place(m, row, tiles[tile])
        if ends:
            row.heads = 1
            row.slice_first += m.height
        if ends or row.place == m.line_bytes // m.value_bytes:
            row.place = 0
            row.line = 0
    put_slot(m, row)
    return over


@called
def lines_step(m: Any, tiles: Any, places_tile: int, requests_tile: int) -> tuple[bool, bool]:
    """A line to its row, behind the rows' cycle, and a request; whether the walks over requests,
    and over places, are done with their tiles."""
    port = m.ports[TENSOR]
    place, request = m.walks[_PLACES], m.walks[_REQUESTS]
    comes = place.active != 0 and port.line != 0 and not m.rows[place.row].line
    if comes:
        m.rows[place.row].line = 1
        port.takes = 1
    placed = walk_step(m, place, tiles, places_tile, comes)
    asks = request.active != 0 and port.accepts != 0
    if asks:
        port.asks = 1
        port.address = request.address
        port.bytes = min(m.line_bytes, request.elements * m.value_bytes)
    return walk_step(m, request, tiles, requests_tile, asks), placed
