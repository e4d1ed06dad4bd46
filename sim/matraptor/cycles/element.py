"""Cycle model: a lane's processing element and its queues, which hold real columns."""

from __future__ import annotations

from ...timing.compiled import inlined
from .plan import LAST, Plan
from .reasons import ADDER, MERGE, SETS, WRITES
from .state import RECENT, RING, Latency, Shape, State

__all__ = ["emit", "merge", "multiply", "offer"]

_BETWEEN, _APPEND, _MERGE, _DRAIN = range(4)


@inlined
def _readable(s: State, lane: int, half: int, queue: int, now: int) -> bool:
    """Returns whether the queue's first entry has reached its head."""
    first, end = s.queue_first[lane, half, queue], s.queue_end[lane, half, queue]
    if end - first >= RECENT:
        return True
    return s.queue_time[lane, half, queue, first % RECENT] <= now


@inlined
def _write(
    c: Shape, s: State, lane: int, half: int, queue: int, column: int, readable: int
) -> bool:
    """Put an entry into a queue; false if it is full."""
    end = s.queue_end[lane, half, queue]
    if end == c.queue_depth:
        return False
    s.queue_column[lane, half, queue, end] = column
    s.queue_time[lane, half, queue, end % RECENT] = readable
    s.queue_end[lane, half, queue] = end + 1
    return True


@inlined
def _shortest(c: Shape, s: State, lane: int, half: int) -> int:
    """The primary queue with the fewest entries; among these the one written longest ago."""
    record = s.lanes[lane]
    best, best_count, best_written = -1, 0, 0
    for queue in range(c.queues):
        if queue == record.helper:
            continue
        count = s.queue_end[lane, half, queue] - s.queue_first[lane, half, queue]
        written = s.queue_written[lane, half, queue]
        if best < 0 or count < best_count or (count == best_count and written < best_written):
            best, best_count, best_written = queue, count, written
    return best


@inlined
def _end_row(c: Shape, s: State, t: Latency, lane: int, now: int) -> None:
    """Phase I of a row is over: its queues go to phase II, the next row takes the next set. Where
    rows wait in a queue, one without products takes none."""
    record = s.lanes[lane]
    half = record.merge_set
    filled = record.partials > 0 or c.row_queue == 0
    if c.row_queue:
        place = record.rows_in % RING
        s.row_since[lane, place] = now + 2
        s.row_filled[lane, place] = filled
        record.rows_in += 1
    if filled:
        left = 0
        for queue in range(c.queues):
            left += s.queue_end[lane, half, queue] - s.queue_first[lane, half, queue]
        s.set_left[lane, half] = left
        s.set_full[lane, half] = 1
        s.set_since[lane, half] = now + 1
        record.merge_set = half + 1 if half + 1 < c.queue_sets else 0
    record.partials = 0
    record.helper = c.queues - 1
    record.merge_row += 1


@inlined
def _end_partial(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A row of B is merged: the emptied queue becomes the helper."""
    record = s.lanes[lane]
    half = record.merge_set
    if record.mode == _APPEND:
        s.queue_written[lane, half, record.target] = record.partials
    else:
        s.queue_written[lane, half, record.helper] = record.partials
        s.queue_first[lane, half, record.target] = 0
        s.queue_end[lane, half, record.target] = 0
        record.helper = record.target
    record.partials += 1
    record.mode = _BETWEEN
    token = record.token_pe - 1
    if p.token_flags[token] & LAST:
        _end_row(c, s, t, lane, now)


@inlined
def _next_token(s: State, p: Plan, lane: int) -> None:
    """Advances to the next entry of A that has products, or that ends a row without any."""
    record = s.lanes[lane]
    while True:
        token = record.token_pe
        column = p.token_column[token]
        if (column >= 0 and p.b_length[column] > 0) or p.token_flags[token] & LAST:
            return
        record.token_pe = token + 1


@inlined
def offer(s: State, lane: int, product: int) -> None:
    """A token into the register before the multiplier; whether it is a ``product``."""
    record = s.lanes[lane]
    s.product_step[lane, record.products_in % RING] = product
    record.products_in += 1


@inlined
def multiply(s: State, t: Latency, lane: int, waiting: int) -> int:
    """A step of the multiplier, if less than two products were ``waiting`` behind it at the
    beginning of the cycle. Returns 1 if it takes a product."""
    record = s.lanes[lane]
    if waiting == 2 or record.products_in == record.products_made:
        return 0
    made, number, took = record.products_made, record.multiplied, 0
    if made < number and s.product_step[lane, made % RING] + t.multiply == record.multiplier:
        record.products_made = made + 1
    if number < record.products_in:
        took = s.product_step[lane, number % RING]
        s.product_step[lane, number % RING] = record.multiplier
        record.multiplied = number + 1
        record.products += took
    record.multiplier += 1
    return took


@inlined
def _has_place(c: Shape, s: State, lane: int, half: int, ends: bool) -> bool:
    """Returns whether phase I may go on, or a row may end that needs no set more."""
    record = s.lanes[lane]
    if c.row_queue == 0:
        return s.set_full[lane, half] == 0
    if record.rows_in - record.rows_out > c.row_queue:
        return False
    return ends or s.set_full[lane, half] == 0


@inlined
def merge(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> bool:
    """A cycle of phase I. Returns False if a queue is full."""
    record = s.lanes[lane]
    half = record.merge_set
    if record.mode == _DRAIN:
        queue = record.target
        record.held_by = ADDER
        if _readable(s, lane, half, queue, now):
            record.held_by = MERGE
            first = s.queue_first[lane, half, queue]
            column = s.queue_column[lane, half, queue, first]
            if not _write(c, s, lane, half, record.helper, column, now + t.sum):
                return False
            s.queue_first[lane, half, queue] = first + 1
            record.merge_steps += 1
            if first + 1 == s.queue_end[lane, half, queue]:
                _end_partial(c, s, p, t, lane, now)
        return True
    number = record.products_out
    if number == record.products_made:
        return True
    if record.mode == _BETWEEN:
        _next_token(s, p, lane)
    token = record.token_pe
    row = p.token_column[token]
    length = p.b_length[row] if row >= 0 else 0
    if not _has_place(c, s, lane, half, length == 0):
        record.held_by = WRITES if record.stuck else SETS
        return True
    if length == 0:
        record.products_out += 1
        record.token_pe = token + 1
        _end_row(c, s, t, lane, now)
        return True
    if record.mode == _BETWEEN:
        if record.partials < c.queues - 1:
            record.mode, record.target = _APPEND, record.partials
        else:
            record.mode, record.target = _MERGE, _shortest(c, s, lane, half)
    column = p.b_columns[p.b_start[row] + record.entry_pe]
    queue, takes = record.target, True
    if record.mode == _APPEND:
        if not _write(c, s, lane, half, queue, column, now + t.append):
            return False
    else:
        first = s.queue_first[lane, half, queue]
        left = s.queue_end[lane, half, queue] - first
        if left:
            if not _readable(s, lane, half, queue, now):
                record.held_by = ADDER
                return True
            head = s.queue_column[lane, half, queue, first]
            takes = column <= head
            if head <= column:
                s.queue_first[lane, half, queue] = first + 1
            column = min(column, head)
        if not _write(c, s, lane, half, record.helper, column, now + t.sum):
            return False
        record.merge_steps += 1
    if not takes:
        record.held_by = MERGE
        return True
    record.products_out += 1
    record.entry_pe += 1
    if record.entry_pe == length:
        record.entry_pe = 0
        record.token_pe = token + 1
        left = s.queue_end[lane, half, queue] - s.queue_first[lane, half, queue]
        if record.mode == _MERGE and left:
            record.mode = _DRAIN
        else:
            _end_partial(c, s, p, t, lane, now)
    return True


@inlined
def _all_readable(c: Shape, s: State, lane: int, half: int, now: int) -> bool:
    """Returns whether the first entries of all queues of a set have reached their heads."""
    for queue in range(c.queues):
        filled = s.queue_first[lane, half, queue] < s.queue_end[lane, half, queue]
        if filled and not _readable(s, lane, half, queue, now):
            return False
    return True


@inlined
def emit(c: Shape, s: State, t: Latency, lane: int, now: int, waiting: int) -> None:
    """A cycle of phase II: one entry of the result, or the end of an empty row. The adders step
    unless two results were ``waiting`` behind them at the beginning of the cycle."""
    record = s.lanes[lane]
    half = record.out_set
    record.stuck = waiting == 2
    if record.stuck:
        return
    made = record.results_made
    if (
        made < record.results_in
        and (s.result_step[lane, made % RING] >> 2) + t.result == record.adders
    ):
        record.results_made = made + 1
    record.adders += 1
    some = True
    if c.row_queue:
        first = record.rows_out % RING
        if record.rows_out == record.rows_in or s.row_since[lane, first] > now:
            return
        some = s.row_filled[lane, first] != 0
    elif not s.set_full[lane, half] or s.set_since[lane, half] > now:
        return
    waits = some and now < s.set_since[lane, half] + t.sum
    if waits and not _all_readable(c, s, lane, half, now):
        return
    present = some and s.set_left[lane, half] > 0
    if present:
        least = 2147483647
        for queue in range(c.queues):
            first = s.queue_first[lane, half, queue]
            if first < s.queue_end[lane, half, queue]:
                least = min(least, s.queue_column[lane, half, queue, first])
        for queue in range(c.queues):
            first = s.queue_first[lane, half, queue]
            filled = first < s.queue_end[lane, half, queue]
            if filled and s.queue_column[lane, half, queue, first] == least:
                s.queue_first[lane, half, queue] = first + 1
                s.set_left[lane, half] -= 1
        record.results += 1
    ends = not some or s.set_left[lane, half] == 0
    place = record.results_in % RING
    s.result_step[lane, place] = (record.adders - 1) * 4 + 2 * present + ends
    record.results_in += 1
    record.rows_out += ends
    if ends and some:
        for queue in range(c.queues):
            s.queue_first[lane, half, queue] = 0
            s.queue_end[lane, half, queue] = 0
        s.set_full[lane, half] = 0
        record.out_set = half + 1 if half + 1 < c.queue_sets else 0
