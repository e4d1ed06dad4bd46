"""Cycle model: the list of tiles, and their check."""

from __future__ import annotations

from typing import Any

from .....hw.spec.tensaurus_tiles import TILE_BYTES
from ....timing.compiled import called
from ....timing.gearbox import gear
from .state import LIST
from .streams import put

__all__ = ["USERS", "fetch_tiles"]

USERS = 3
_LOOK, _MULTIPLY, _OFFER = range(3)
_LOOKS = 4
"""Cycles in which a description is looked at."""
_LIST_GEAR = 0
_FETCHED = 0


@called
def _offer(m: Any) -> bool:
    """The tile to all its users, to each once; whether the last one takes it."""
    done = True
    taken = m.forks[_FETCHED]
    for user in range(USERS):
        if taken >> user & 1:
            continue
        if m.skids[user].spare:
            done = False
        else:
            put(m.skids[user], m.check_tile)
            taken |= 1 << user
    m.forks[_FETCHED] = 0 if done else taken
    return done


@called
def fetch_tiles(m: Any) -> None:
    """A cycle of the tile fetcher."""
    words = m.gears[_LIST_GEAR]
    ready = False
    if m.check == _LOOK and words.valid:
        m.check_left += 1
        if m.check_left == _LOOKS:
            m.check_left = 0
            m.check = _OFFER
            if m.dense and m.order > 2:
                m.check = _MULTIPLY
                m.check_left = m.size_bits * (m.order - 2)
    elif m.check == _MULTIPLY:
        m.check_left -= 1
        if m.check_left == 0:
            m.check = _OFFER
    elif m.check == _OFFER:
        ready = _offer(m)
        if ready:
            m.check_tile += 1
            m.check = _LOOK
    port = m.ports[LIST]
    took, ends = gear(
        words, m.list_cuts != 0, m.tiles, TILE_BYTES, m.line_bytes, port.line != 0, ready
    )
    port.takes = took
    if ends:
        m.list_cuts = 0
    if m.list_asks and port.accepts:
        port.asks = 1
        port.address = m.list_address
        port.bytes = m.tiles * TILE_BYTES
        m.list_asks = 0
