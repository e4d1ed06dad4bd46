"""Cycle model: a lane's parts for outer products, between its loaders, multiplier and writer.

Source: MatRaptor, sections on the outer product and on future work; ``hw/matraptor/outer``
and ``replay.py``.
"""

from __future__ import annotations

from ...timing.compiled import inlined
from .breakdown import ADDER
from .element import offer
from .loaders import ENDS, has_left, has_room
from .outer_state import EMPTY, END, OuterState
from .plan import LAST, Plan
from .state import LONG_RING, NEVER, RING, Latency, Shape, State

__all__ = ["drain", "hold", "is_offered", "replay", "sum_up", "take_columns"]

_MEMORIES = 2


@inlined
def is_offered(c: Shape, s: State, p: Plan, o: OuterState, lane: int, now: int) -> bool:
    """Whether a row of B can be asked for: the first entry of a column of A is there and has room
    in the queue, or all columns are done."""
    record = o.lanes[lane]
    token = record.taken
    if record.closing:
        return True
    if not has_left(s, lane, token, now) or p.token_column[token] < 0:
        return False
    if token > p.token_start[lane] and not p.token_flags[token - 1] & LAST:
        return False
    waiting = record.column_in - record.column_out
    return has_room(waiting, record.column_out_at, c.outstanding, now)


@inlined
def take_columns(
    c: Shape, s: State, p: Plan, o: OuterState, lane: int, now: int, asked: bool
) -> None:
    """An entry of a column of A into the queue. ``asked``: B's loader has taken what it was
    offered."""
    record = o.lanes[lane]
    if record.closing:
        record.closing = 1 - asked
        return
    token = record.taken
    if not has_left(s, lane, token, now):
        return
    if p.token_column[token] >= 0:
        first = token == p.token_start[lane] or p.token_flags[token - 1] & LAST
        waiting = record.column_in - record.column_out
        if not has_room(waiting, record.column_out_at, c.outstanding, now):
            return
        if first and not asked:
            return
        place = record.column_in % LONG_RING
        o.column[lane, place] = token
        o.column_time[lane, place] = now + 2
        record.column_in += 1
    record.taken = token + 1
    record.closing = token + 1 == p.token_start[lane + 1]


@inlined
def hold(o: OuterState, lane: int, sent: int) -> None:
    """What B's loader has sent, before the memories."""
    o.lanes[lane].held = 1
    o.lanes[lane].token = sent


@inlined
def replay(s: State, p: Plan, o: OuterState, lane: int, now: int) -> None:
    """A cycle of the two memories: an entry of a row of B into one, and one out of the other."""
    record, after = o.lanes[lane], s.lanes[lane]
    held = record.stored - record.sent
    if held and after.products_in == after.multiplied:
        column = p.ask_column[record.sent]
        place = record.column_out % LONG_RING
        if column < 0:
            o.product_place[lane, after.products_in % RING] = END
            offer(s, lane, 0)
            record.sent += 1
        elif record.column_out < record.column_in and o.column_time[lane, place] <= now:
            token, length = o.column[lane, place], p.b_length[column]
            if length:
                entry = p.b_columns[p.b_start[column] + record.entry]
                line = p.token_column[token] * o.lines + entry // o.banks
                found = line * o.banks + entry % o.banks
                o.product_place[lane, after.products_in % RING] = found
                offer(s, lane, 1)
                record.entry += 1
            # An entry that finds no row is passed over.
            if record.entry == length:
                record.entry = 0
                record.column_out += 1
                record.column_out_at = now
                if p.token_flags[token] & LAST:
                    record.sent += 1
    # A memory from which the row's last entry leaves in this cycle is free in the next.
    if record.held and held < _MEMORIES:
        record.held = 0
        if record.token & ENDS:
            record.stored += 1


@inlined
def _waits(o: OuterState, t: Latency, lane: int, place: int, now: int) -> bool:
    """Whether a sum, or for the token that ends the lane any sum, is still in the adder."""
    record = o.lanes[lane]
    for back in range(1, min(record.reads, t.sum) + 1):
        latest = (record.reads - back) % RING
        if o.read_time[lane, latest] + t.sum <= now:
            return False
        if place == END or o.read_place[lane, latest] == place:
            return True
    return False


@inlined
def sum_up(s: State, o: OuterState, t: Latency, lane: int, now: int) -> None:
    """A cycle of the sums: a product to the sum that it belongs to."""
    record, before = o.lanes[lane], s.lanes[lane]
    place = record.placed
    if place != EMPTY:
        if _waits(o, t, lane, place, now):
            if record.multiplied != EMPTY:
                before.held_by = ADDER
                return
        else:
            if place == END:
                record.draining = now + 1
            else:
                o.begun[lane, place // o.banks] |= 1 << place % o.banks
                o.read_place[lane, record.reads % RING] = place
                o.read_time[lane, record.reads % RING] = now
                record.reads += 1
            place = EMPTY
    if place == EMPTY:
        record.placed = record.multiplied
        record.multiplied = EMPTY
    number = before.products_out
    if now >= record.summing and record.draining == NEVER and number < before.products_made:
        record.multiplied = o.product_place[lane, number % RING]
        before.products_out = number + 1


@inlined
def drain(c: Shape, s: State, p: Plan, o: OuterState, lane: int, now: int, waiting: int) -> None:
    """A cycle of the rows of C: a line read, or a sum sent. ``waiting``: results that the writer
    had not taken when the cycle began."""
    record, after = o.lanes[lane], s.lanes[lane]
    if now < record.draining:
        return
    line_ends = False
    if record.shown:
        some = record.mask != 0
        rest = record.mask & (record.mask - 1)
        line_ends = not some and record.left > 0
        if waiting < 2 and not line_ends:
            ends = record.left == 0 and rest == 0
            s.result_step[lane, after.results_in % RING] = now * 4 + 2 * some + ends
            after.results_in += 1
            after.results += some
            record.mask = rest
            line_ends = rest == 0
    more = record.row < p.c_start[lane + 1]
    if record.ready and (not record.shown or (line_ends and record.left == 0)):
        record.ready = 0
        record.shown = 1
        record.left = o.lines - 1
        record.line = p.c_number[record.row] // c.lanes * o.lines
        record.mask = o.begun[lane, record.line]
        record.row += 1
        return
    record.ready = more
    if line_ends and record.left == 0:
        record.shown = 0
    elif line_ends:
        record.left -= 1
        record.line += 1
        record.mask = o.begun[lane, record.line]
