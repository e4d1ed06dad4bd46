"""Cycle model: the list of tiles, operands to the scratchpads, tokens to the rows."""

from __future__ import annotations

from typing import Any

from ....hw.spec.jobs.tensaurus_operations import TILE_BYTES
from ...timing.compiled import called
from ...timing.parts import gear, skid_full, skid_put
from .compute_array import has_room_for_token
from .state import DELAYS, LIST, MATRICES, SIDES

_MOST_TILES = 7
_OPERAND_BITS = 2
_OPERANDS = 3
_TILES_SKID, _CUTS, _WRITES = 0, 3, 4
_PARTS = 1
_LOADS = 1


@called
def _loads(tiles: Any, load: int) -> bool:
    """Returns whether the tile loads the operand; ``load``: tile and operand."""
    return (tiles[load >> _OPERAND_BITS].load >> (load & _OPERANDS)) & 1 != 0


@called
def _address(tiles: Any, load: int) -> int:
    tile, operand = tiles[load >> _OPERAND_BITS], load & _OPERANDS
    found = tile.operand_1
    if operand == 1:
        found = tile.operand_2
    elif operand == 2:
        found = tile.operand_3
    return int(found)


@called
def _count(m: Any, tiles: Any, load: int) -> int:
    """Units of the operand, or vectors of scalars."""
    tile, operand = tiles[load >> _OPERAND_BITS], load & _OPERANDS
    rows = tile.size_1
    if operand == 1:
        rows = tile.size_2
    elif operand == 2:
        rows = tile.size_3
    parts = rows * m.count[operand]
    if m.scalar_operand[operand]:
        parts = (parts + m.vlen - 1) // m.vlen
    return int(parts)


@called
def _size(m: Any, load: int) -> int:
    """Bytes of such a part."""
    return int(m.vector_bytes if m.scalar_operand[load & _OPERANDS] else m.unit_bytes)


@called
def _sides(m: Any, now: int, loaded: int, told: bool) -> None:
    """Sides and counts of tiles at the end of a cycle; ``loaded``: an operand, or -1."""
    for number in range(m.height):
        row = m.rows[number]
        done = row.done[now % DELAYS]
        row.done[now % DELAYS] = 0
        if told:
            m.row_tiles[number] += 1
        if done:
            m.row_tiles[number] -= 1
    for operand in range(_OPERANDS):
        if operand == loaded:
            m.since[operand] = 0
            m.side_bits ^= 1 << operand
        elif told and m.since[operand] < _MOST_TILES:
            m.since[operand] += 1


@called
def _write(m: Any, tiles: Any, now: int) -> bool:
    """Writes parts to the scratchpads, and sends tokens; returns whether a part is taken."""
    writes, parts = m.skids[_WRITES], m.gears[_PARTS]
    m.token = m.told_valid and has_room_for_token(m)
    most = 0
    for number in range(m.height):
        most = max(most, m.row_tiles[number])
    told = m.due and most < _MOST_TILES and (m.token or not m.told_valid)
    ready = False
    done = False
    loaded = -1
    if writes.valid and not m.due:
        done = not _loads(tiles, writes.place)
        if not done:
            operand = writes.place & _OPERANDS
            ready = most <= m.since[operand]
            if ready and parts.valid and parts.last:
                done = True
                loaded = operand
    if m.token:
        m.told_valid = 0
    if told:
        m.told_valid = 1
        m.sides[m.tokens % SIDES] = m.side_bits
        m.tokens += 1
    if done:
        writes.takes = 1
        m.due = (writes.place & _OPERANDS) + 2 == m.order
    elif told:
        m.due = 0
    _sides(m, now, loaded, told)
    return ready


@called
def _pipeline(m: Any, tiles: Any) -> None:
    """Sends each operand's load through registers to the units that carry it out."""
    stages = m.load_stages
    port = m.ports[MATRICES]
    free = True
    load = m.stages[stages - 1] - 1
    if load >= 0:
        wanted = 0b111 if _loads(tiles, load) else 0b100
        pending = wanted & ~m.forks[_LOADS]
        taken = 0
        if pending & 1 and port.accepts:
            port.asks = 1
            port.address = _address(tiles, load)
            port.bytes = _count(m, tiles, load) * _size(m, load)
            taken |= 1
        for output in range(1, 3):
            skid = m.skids[_CUTS if output == 1 else _WRITES]
            if pending >> output & 1 and not skid.spare:
                put(skid, load)
                taken |= 1 << output
        free = taken == pending
        m.forks[_LOADS] = 0 if free else m.forks[_LOADS] | taken
    for behind in range(stages):
        stage = stages - 1 - behind
        if free or m.stages[stage] == 0:
            free = True
            m.stages[stage] = m.stages[stage - 1] if stage else 0
        else:
            free = False
    tile = m.skids[_TILES_SKID]
    if free and tile.valid:
        m.stages[0] = ((tile.place << _OPERAND_BITS) | m.operand) + 1
        m.operand += 1
        if m.operand + 1 == m.order:
            m.operand = 0
            tile.takes = 1


@called
def load_matrices(m: Any, tiles: Any, now: int) -> None:
    """A cycle of the matrix loader."""
    cuts = m.skids[_CUTS]
    port = m.ports[MATRICES]
    ready = _write(m, tiles, now)
    count = size = 1
    if cuts.valid:
        count, size = _count(m, tiles, cuts.place), _size(m, cuts.place)
    took, ends = gear(
        m.gears[_PARTS], cuts.valid != 0, count, size, m.line_bytes, port.line != 0, ready
    )
    port.takes = took
    if ends:
        cuts.takes = 1
    _pipeline(m, tiles)


@called
def put(skid: Any, place: int) -> None:
    """Puts a number into a skid buffer, whose second place is free, at the end of the cycle."""
    skid.puts = 1
    skid.put_place = place


@called
def skid_step(skid: Any) -> None:
    """The end of a cycle in which something was put, or was taken (``takes``), or neither."""
    if not (skid.puts or skid.takes):
        return
    if skid.takes:
        skid.valid = 0
    skid_full(skid)
    if skid.puts:
        skid_put(skid, 0, skid.put_place, 0)
    skid.puts = 0
    skid.takes = 0


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
