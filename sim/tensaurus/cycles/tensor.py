"""Cycle model: tiles of a tensor, sparse or dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...timing.compiled import called, inlined
from ...timing.parts import gear, queue_step
from .compute_array import END, HEADER, VALUE
from .groups import wrapped
from .operands import put
from .state import TENSOR

_ENTRIES = 2


@called
def _number(content: Any, at: int, size: int) -> Any:
    """Returns the number in so many bytes, the lowest first."""
    found = np.int64(0)
    for place in range(size):
        found |= np.int64(content[at + place]) << 8 * place
    return found


@called
def _read(m: Any, row: Any, content: Any, at: int) -> None:
    """A row's slot, as it would go to its queue; nothing for a no-op behind the first one."""
    first = _number(content, at + m.value_bytes, m.index_bytes)
    header = first > m.index_mask if m.marker_bit else _number(content, at, m.value_bytes) == 0
    first &= m.index_mask
    slot = row.slot
    slot.index_0 = first
    row.present = 1
    if header:
        slot.kind = HEADER
        if first == m.index_mask:
            slot.kind = END
            row.present = not row.ended
            row.ended = 1
        return
    slot.kind = VALUE
    if m.order > 2:
        slot.index_1 = _number(content, at + m.value_bytes + m.index_bytes, m.index_bytes)
    if m.order > 3:
        slot.index_2 = _number(content, at + m.value_bytes + 2 * m.index_bytes, m.index_bytes)


@called
def _judge(m: Any, content: Any) -> None:
    """The entry that was seen: what of it goes to which row."""
    slot_bytes = m.entry_bytes // m.height
    for number in range(m.height):
        _read(m, m.rows[number], content, m.seen + number * slot_bytes)
    if m.seen_last:
        for number in range(m.height):
            m.rows[number].ended = 0


@called
def entries_step(m: Any, tiles: Any, content: Any) -> bool:
    """A cycle from the queues back to the lines; whether the tile's stream has been cut to its
    end."""
    goes = m.judged_valid != 0
    for number in range(m.height):
        row = m.rows[number]
        goes = goes and (not row.present or row_is_free(m, row))
    if goes:
        for number in range(m.height):
            if m.rows[number].present:
                put_slot(m, m.rows[number])
    free = goes or not m.judged_valid
    seen_free = free or not m.seen_valid
    if free:
        m.judged_valid = m.seen_valid
        if m.seen_valid:
            _judge(m, content)
    context, cut = m.skids[_CONTEXT], m.gears[_ENTRIES]
    ready = context.valid != 0 and seen_free
    if seen_free:
        m.seen_valid = context.valid and cut.valid
        if m.seen_valid:
            m.seen = tiles[context.place].stream + m.entry * m.entry_bytes
            m.seen_last = cut.last
            m.entry += 1
            if cut.last:
                m.entry = 0
                context.takes = 1
    tile = m.skids[_TILE_SKID]
    wants = tile.valid != 0 and not m.forks[_USERS] & 1
    count = tiles[tile.place].entries if wants else 1
    took, ends = gear(cut, wants, count, m.entry_bytes, m.line_bytes, m.line_there != 0, ready)
    m.line_goes = took
    return ends


@called
def row_is_free(m: Any, row: Any) -> bool:
    """Returns whether the queue accepts a slot in this cycle."""
    return row.slots.level != m.queue_depth


@called
def put_slot(m: Any, row: Any) -> None:
    """``slot`` goes into the queue at the end of the cycle."""
    place = row.queue[row.put_at]
    row.put_at = wrapped(row.put_at + 1, m.queue_depth)
    place.kind = row.slot.kind
    place.index_0 = row.slot.index_0
    place.index_1 = row.slot.index_1
    place.index_2 = row.slot.index_2
    row.puts = 1


@called
def slots_step(m: Any, row: Any) -> None:
    """The end of a cycle in which something was put, and what is there taken (``took``), or not."""
    if row.took and row.kind == END:
        row.tiles_inside -= 1
    if queue_step(row.slots, row.puts != 0, row.took != 0):
        slot = row.queue[row.read_at]
        row.read_at = wrapped(row.read_at + 1, m.queue_depth)
        row.kind = slot.kind
        row.index_0 = slot.index_0
        row.index_1 = slot.index_1
        row.index_2 = slot.index_2
    row.puts = 0
    row.took = 0


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
    ``line`` counts the lines before the row, ``line_full`` says whether no more are accepted."""
    row.line_full = row.line == 2
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
            row.line -= 1
    put_slot(m, row)
    return over


@called
def lines_step(m: Any, tiles: Any, places_tile: int, requests_tile: int) -> tuple[bool, bool]:
    """A line to its row, behind the rows' cycle, and a request; whether the walks over requests,
    and over places, are done with their tiles."""
    port = m.ports[TENSOR]
    place, request = m.walks[_PLACES], m.walks[_REQUESTS]
    comes = place.active != 0 and m.line_there != 0 and not m.rows[place.row].line_full
    if comes:
        m.rows[place.row].line += 1
        m.line_goes = 1
    placed = walk_step(m, place, tiles, places_tile, comes)
    asks = request.active != 0 and port.accepts != 0
    if asks:
        port.asks = 1
        port.address = request.address
        port.bytes = min(m.line_bytes, request.elements * m.value_bytes)
    return walk_step(m, request, tiles, requests_tile, asks), placed


_MOST_TILES = 63
_TILES_SKID, _TILE_SKID, _CONTEXT = 1, 5, 6
_AHEAD, _USERS = 2, 3


@inlined
def _sparse(m: Any, tiles: Any, content: Any) -> int:
    """A cycle of a stream; which users of the tile take it."""
    tile, context = m.skids[_TILE_SKID], m.skids[_CONTEXT]
    taken = m.forks[_USERS]
    ends = entries_step(m, tiles, content)
    if tile.valid and not taken & 2 and not context.spare:
        put(context, tile.place)
        taken |= 2
    return int(taken | ends)


@inlined
def _dense(m: Any, tiles: Any, requests_tile: int) -> tuple[int, bool]:
    """A cycle of a dense tensor; which users of the tile take it, and whether the requests are
    through with theirs."""
    tile = m.skids[_TILE_SKID]
    taken = m.forks[_USERS]
    found = taken
    for number in range(m.height):
        mine = tile.place if tile.valid and not taken >> 3 + number & 1 else -1
        if dense_row_step(m, m.rows[number], number, tiles, mine):
            found |= 1 << 3 + number
    mine = tile.place if tile.valid and not taken & 4 else -1
    requested, placed = lines_step(m, tiles, mine, requests_tile)
    if placed:
        found |= 4
    return found, requested


@inlined
def load_tensor(m: Any, tiles: Any, content: Any) -> None:
    """A cycle of the tensor loader but for the queues; behind that of the array."""
    tile, source, port = m.skids[_TILE_SKID], m.skids[_TILES_SKID], m.ports[TENSOR]
    m.line_there = m.line_spare != 0 or port.line != 0
    m.line_goes = 0
    there = source.valid != 0
    if there and not m.ahead_begun:
        for number in range(m.height):
            there = there and m.rows[number].tiles_inside != _MOST_TILES
        for number in range(m.height):
            m.rows[number].tiles_inside += there
    ahead = m.forks[_AHEAD]
    before = ahead
    if m.dense:
        requests_tile = source.place if there and not before & 2 else -1
        users, requested = _dense(m, tiles, requests_tile)
        ahead |= 2 * requested
        wanted = ((1 << m.height) - 1 << 3) | 4
    else:
        users = _sparse(m, tiles, content)
        wanted = 3
        if there and not before & 1 and port.accepts:
            port.asks = 1
            port.address = tiles[source.place].tensor
            port.bytes = tiles[source.place].entries * m.entry_bytes
            ahead |= 1
    if tile.valid:
        if users == wanted:
            users = 0
            tile.takes = 1
        m.forks[_USERS] = users
    if there:
        if not before & 4 and not tile.spare:
            put(tile, source.place)
            ahead |= 4
        if ahead == (6 if m.dense else 5):
            ahead = 0
            source.takes = 1
        m.forks[_AHEAD] = ahead
    m.ahead_begun = there and not source.takes
    port.takes = port.line != 0 and not m.line_spare
    m.line_spare = m.line_there and not m.line_goes
