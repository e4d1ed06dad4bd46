"""Cycle model: a cycle of the compute array."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called, inlined
from ...timing.parts import queue_step, round_robin
from .groups import wrapped
from .head import arrive, carry_out, head, put, waves
from .state import DELAYS, FREE, SIDES, SLICES


@called
def drain(m: Any, now: int) -> None:
    """A vector leaves, of a row in turn behind the one that was served last; ends of tiles leave
    at once."""
    requests = 0
    for number in range(m.height):
        row = m.rows[number]
        row.freed = 0
        row.leaving = 0
        if row.drain.valid and row.complete and row.tiles:
            if row.slices[row.first, 1]:
                row.leaving = 1
                row.tiles -= 1
                m.drained += 1
                m.drained_at = now
            elif not m.hold:
                requests |= 1 << number
    if requests:
        m.served = round_robin(requests, m.served, m.height)
        m.drains += 1
        m.leaves = 1
        _leave(m, m.rows[m.served])


@called
def _leave(m: Any, row: Any) -> None:
    """A vector of the row's first slice."""
    slice_ = row.numbers[row.slice_out % SLICES]
    m.left_unit = slice_ * m.slice_units + row.vector_out
    row.vector_out += 1
    if row.vector_out == m.slice_units:
        row.vector_out = 0
        row.leaving = 1
        row.freed = row.slices[row.first, 0]
        unit = slice_ // m.unit_slices
        row.slice_out += 1
        m.touched = max(m.touched, (unit + 1) * m.slice_units)


@called
def drain_queue(m: Any, row: Any, size: int, end: int, now: int) -> None:
    """The end of the cycle: a slice comes (``size`` is not negative), one is gone."""
    places = m.output + 2
    if row.leaving:
        row.first = wrapped(row.first + 1, places)
        row.complete -= 1
    queue_step(row.drain, size >= 0, row.leaving != 0)
    if size >= 0:
        row.slices[row.slice_put, 0] = size
        row.slices[row.slice_put, 1] = end
        row.slice_put = wrapped(row.slice_put + 1, places)
    row.complete += row.released[now % DELAYS]
    row.released[now % DELAYS] = 0


VALUE, HEADER, END = range(3)
"""Kinds of slots, as ``SlotKind`` in the hardware."""

TOKENS = 2
"""Tokens of tiles that wait for a row."""


@called
def has_room_for_token(m: Any) -> bool:
    """Returns whether all rows would accept a tile's token in this cycle."""
    room = True
    for number in range(m.height):
        room = room and m.rows[number].tokens.level != TOKENS
    return room


@called
def _operand(m: Any, row: Any, mode: int) -> int:
    """Twice the address of the operand of a mode, from 0 on, and its side; 0 of no mode."""
    found = 0
    if mode >= 0:
        index = row.index_0
        if mode == 1:
            index = row.index_1
        elif mode == 2:
            index = row.index_2
        found = (m.region[mode] + index * m.count[mode]) * 2 + (row.sides >> mode & 1)
    return found


@called
def _move_up(row: Any) -> None:
    """The value that waits behind the one that left, or behind none, is next."""
    row.spare = 0
    row.decoded = 1
    row.end = row.spare_end
    row.value_slice = row.spare_slice
    row.product = row.spare_product
    row.fiber_0 = row.spare_0
    row.fiber_1 = row.spare_1


@called
def _decode(m: Any, row: Any, taken: bool) -> bool:
    """The registers before the head; whether the tile ends in it. ``took`` says whether the slot
    that is there is taken."""
    ends = False
    there = row.tokens.valid and row.slots.valid
    free = not row.spare
    if taken:
        row.decoded = 0
        if row.spare:
            _move_up(row)
    row.took = 0
    if there and row.kind == HEADER:
        row.slice = row.index_0
        row.took = 1
    elif there and free:
        row.took = 1
        row.spare = 1
        ends = row.kind == END
        row.spare_end = ends
        row.spare_slice = row.slice
        if ends:
            row.slice_last = FREE
        else:
            row.spare_product = _operand(m, row, m.order - 2)
            row.spare_0 = _operand(m, row, m.order - 3)
            row.spare_1 = _operand(m, row, m.order - 4)
            if row.slice_last != row.slice:
                row.slice_last = row.slice
                row.numbers[row.slice_in % SLICES] = row.slice
                row.slice_in += 1
        if not row.decoded:
            _move_up(row)
    return ends


@called
def _tokens(m: Any, row: Any, ends: bool) -> None:
    """The queue of tiles of a row."""
    if queue_step(row.tokens, m.token != 0, ends):
        row.sides = m.sides[row.tile % SIDES]
        row.tile += 1
    row.tiles += m.opens


@inlined
def array_step(m: Any, now: int, half: int) -> None:
    """A cycle; ``half``: cycles since the reset, modulo rows. ``m.token`` and ``m.opens`` say
    what comes, ``took`` of each row whether its slot is taken."""
    drain(m, now)
    before = m.last_at
    for number in range(m.height):
        carry_out(m, m.rows[number], now)
    if m.last_at != before:
        m.busy += 1
        if m.first_at == FREE:
            m.first_at = now
    arrive(m, half)
    waves(m, half)
    for number in range(m.height):
        _row_step(m, m.rows[number], now)


@inlined
def _row_step(m: Any, row: Any, now: int) -> None:
    """Advances a row by a cycle, from the window back to the slots."""
    level = row.level - row.going
    if row.issued and row.level < m.window:
        put(m, row)
        level += 1
    taken, size, end = head(m, row)
    row.level = level
    if row.going:
        row.oldest = (row.oldest + 1) & (m.window - 1)
    drain_queue(m, row, size, end, now)
    _tokens(m, row, _decode(m, row, taken))
