"""Cycle model: tiles of a tensor, sparse or dense."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .dense import dense_row_step, lines_step
from .entries import entries_step
from .state import TENSOR
from .streams import put

__all__ = ["load_tensor"]

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
        put(context, tile.value)
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
        mine = tile.value if tile.valid and not taken >> 3 + number & 1 else -1
        if dense_row_step(m, m.rows[number], number, tiles, mine):
            found |= 1 << 3 + number
    mine = tile.value if tile.valid and not taken & 4 else -1
    requested, placed = lines_step(m, tiles, mine, requests_tile)
    if placed:
        found |= 4
    return found, requested


@inlined
def load_tensor(m: Any, tiles: Any, content: Any) -> None:
    """A cycle of the tensor loader but for the queues; behind that of the array."""
    tile, source, port = m.skids[_TILE_SKID], m.skids[_TILES_SKID], m.ports[TENSOR]
    there = source.valid != 0
    if there and not m.ahead_begun:
        for number in range(m.height):
            there = there and m.rows[number].tiles_inside != _MOST_TILES
        for number in range(m.height):
            m.rows[number].tiles_inside += there
    ahead = m.forks[_AHEAD]
    before = ahead
    if m.dense:
        requests_tile = source.value if there and not before & 2 else -1
        users, requested = _dense(m, tiles, requests_tile)
        ahead |= 2 * requested
        wanted = ((1 << m.height) - 1 << 3) | 4
    else:
        users = _sparse(m, tiles, content)
        wanted = 3
        if there and not before & 1 and port.accepts:
            port.asks = 1
            port.address = tiles[source.value].tensor
            port.bytes = tiles[source.value].entries * m.entry_bytes
            ahead |= 1
    if tile.valid:
        if users == wanted:
            users = 0
            tile.takes = 1
        m.forks[_USERS] = users
    if there:
        if not before & 4 and not tile.spare:
            put(tile, source.value)
            ahead |= 4
        if ahead == (6 if m.dense else 5):
            ahead = 0
            source.takes = 1
        m.forks[_AHEAD] = ahead
    m.ahead_begun = there and not source.takes
