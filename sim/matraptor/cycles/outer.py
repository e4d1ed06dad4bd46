"""Cycle model of MatRaptor's second mode: how long an outer product takes, and what it moves.

As ``sim/matraptor/cycles/rows.py``, with other parts between the loaders and the writer.
Source: MatRaptor, sections on the outer product and on future work.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ....hw.spec.matraptor import MatRaptorConfig
from ...sparse.c2sr import C2sr, to_csr
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel
from ..result.outer import check_operands, overflow_rows
from .bound import bound
from .bus import bus, bus_step
from .element import multiply, offer
from .loaders import ENDS, NOTHING, asked, has_left, has_room, load_a, load_b
from .plan import LAST, Places, Plan, canonical, packed, plan, starts
from .reasons import ADDER, IDLE, START
from .request_log import logged, with_log
from .rows import Cache, Cycles, QueueOverflow, account, entries_of_c, report, set_up
from .state import LONG_RING, NEVER, RING, Latency, Shape, State, begin, latency
from .traffic import by_outer_products
from .writers import write_rows

# Cycle model: a lane's parts for outer products, between its loaders, multiplier and writer.
#
# Source: MatRaptor, sections on the outer product and on future work; ``hw/matraptor/outer``
# and ``replay.py``.


EMPTY, END = -1, -2
"""Values instead of a sum's place: no product, and the token that ends the lane."""

_LANE = np.dtype(
    [
        (name, np.int64)
        for name in (
            # First cycle in which products are summed, and in which the sums leave.
            *("summing", "draining"),
            # The columns of A: tokens taken, whether the token that ends the lane is to be sent;
            # entries that wait for their row of B, and are done (and when last).
            *("taken", "closing", "column_in", "column_out", "column_out_at"),
            # Rows of B: the token before the two memories, rows that are in them, and that were
            # sent; the next entry of the one that is being sent.
            *("held", "token", "stored", "sent", "entry"),
            # Places of the product that is multiplied, that has a place; places that were read.
            *("multiplied", "placed", "reads"),
            # The next row of C, whether its first line is known; whether a line is shown, which
            # is next, how many of the row are behind it, and its sums that are still to be sent.
            *("row", "ready", "shown", "line", "left", "mask"),
        )
    ]
)


class OuterState(NamedTuple):
    """The variable state besides :class:`State`.

    ``lanes``: counters. ``column`` and ``column_time`` [lane, place]: tokens of A that wait for a
    row of B, and from when on they can be seen. ``product_place`` [lane, place]: of those in the
    multiplier. ``read_place`` and ``read_time`` [lane, place]: of the latest sums that were read.
    ``begun`` [lane, line]: banks in which there is a sum. ``lines``: of a row of C; ``banks``.
    """

    lanes: Any
    column: Any
    column_time: Any
    product_place: Any
    read_place: Any
    read_time: Any
    begun: Any
    lines: int
    banks: int


def outer_plan(
    config: MatRaptorConfig, t: csr_array, b: csr_array, places: Places, rows: int
) -> Plan:
    """Lay out the work of an outer product; ``t``: A as it is stored, ``places``: where the
    operands are, ``rows``: of C."""
    work = plan(config, t, b, places, rows)
    none = csr_array((rows, 1))
    rows_of_c = plan(config, none, b, packed(none, b, config.channels))
    lengths = np.diff(t.indptr)[work.row_number]
    columns, counts = [], []
    for lane in range(config.lanes):
        own = slice(work.row_start[lane], work.row_start[lane + 1])
        asked = work.row_number[own][lengths[own] > 0] // config.lanes
        # The last token ends the lane.
        columns.append(np.append(asked, -1) if lane < rows else asked)
        counts.append(len(columns[-1]))
    column = np.concatenate(columns).astype(np.int64)
    return work._replace(
        ask_start=starts(counts),
        ask_column=column,
        ask_flags=np.full_like(column, LAST),
        c_start=rows_of_c.row_start,
        c_number=rows_of_c.row_number,
        c_slot=rows_of_c.row_slot,
    )


def outer_state(
    config: MatRaptorConfig, machine: State, work: Plan, times: Latency, columns: int
) -> OuterState:
    """Returns the state of a machine at the start of a job; ``columns``: of C."""
    lanes = config.lanes
    lines = max(1, -(-columns // config.accumulator_banks))
    own = np.diff(work.c_start)

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    state = OuterState(
        lanes=np.zeros(lanes, _LANE),
        column=zeros(lanes, LONG_RING),
        column_time=zeros(lanes, LONG_RING),
        product_place=zeros(lanes, RING),
        read_place=zeros(lanes, RING),
        read_time=zeros(lanes, RING),
        begun=zeros(lanes, max(1, int(own.max()) * lines)),
        lines=lines,
        banks=config.accumulator_banks,
    )
    record = state.lanes
    # The lines are cleared, one a cycle; a cycle later it is known that none is left.
    record["summing"] = times.start + own * lines + 1
    record["draining"] = NEVER
    record["taken"] = work.token_start[:-1]
    record["sent"] = record["stored"] = work.ask_start[:-1]
    record["row"] = work.c_start[:-1]
    record["multiplied"] = record["placed"] = EMPTY
    record["column_out_at"] = -1
    return state


_MEMORIES = 2


@inlined
def is_offered(c: Shape, s: State, p: Plan, o: OuterState, lane: int, now: int) -> bool:
    """Returns whether a row of B can be requested: the first entry of a column of A is present and
    has room in the queue, or all columns are done."""
    record = o.lanes[lane]
    token = record.taken
    if record.closing:
        return True
    if not has_left(c, s, lane, token, now) or p.token_column[token] < 0:
        return False
    if token > p.token_start[lane] and not p.token_flags[token - 1] & LAST:
        return False
    waiting = record.column_in - record.column_out
    return has_room(waiting, record.column_out_at, c.outstanding + 1, now)


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
    if not has_left(c, s, lane, token, now):
        return
    if p.token_column[token] >= 0:
        first = token == p.token_start[lane] or p.token_flags[token - 1] & LAST
        waiting = record.column_in - record.column_out
        if not has_room(waiting, record.column_out_at, c.outstanding + 1, now):
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
    """Holds the token that B's loader has sent, before the memories."""
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
    """Returns whether a place's sum is still in the adder; any sum, for the lane's last token."""
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
            after.results_made += 1
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


@compiled
def _run(
    c: Shape, s: State, d: Any, dram: Any, p: Plan, t: Latency, o: OuterState, most: int
) -> Any:
    """Step until all lanes have finished. Returns (cycles, first product, last product, cycles
    with a product)."""
    first, last, busy = -1, -1, 0
    for now in range(t.start, most):
        bus_step(c, s, d, dram, t, now)
        finished, products = 0, 0
        for lane in range(c.lanes):
            record = s.lanes[lane]
            if record.finished:
                finished += 1
                s.spent[lane, IDLE] += 1
                continue
            results = record.results_in - record.results_out
            write_rows(c, s, p, t, lane, now)
            drain(c, s, p, o, lane, now, results)
            waiting = record.products_made - record.products_out
            sum_up(s, o, t, lane, now)
            before = record.multiplied
            took = multiply(s, t, lane, waiting)
            products += took
            fed = o.lanes[lane].stored > o.lanes[lane].sent
            account(s, lane, waiting, took, record.multiplied > before, fed, now)
            replay(s, p, o, lane, now)
            token, column = asked(s, t, lane), o.lanes[lane].taken
            offered = is_offered(c, s, p, o, lane, now)
            sent = load_b(c, s, p, t, lane, now, offered, o.lanes[lane].held)
            if sent != NOTHING:
                hold(o, lane, sent)
            take_columns(c, s, p, o, lane, now, asked(s, t, lane) > token)
            load_a(c, s, p, t, lane, now, column)
        if products:
            busy += 1
            last = now
            if first < 0:
                first = now
        if finished == c.lanes and now >= s.caches[0].ready_at:
            return now + t.finish, first, last, busy
    return -1, first, last, busy


def simulate_outer(
    config: MatRaptorConfig,
    t: C2sr,
    b: C2sr,
    rows: int,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    latencies: Latency | None = None,
    cache: Cache | None = None,
    log: bool = False,
) -> Cycles:
    """Multiply sparse matrices by outer products in the cycle model, in one job.

    Parameters
    ----------
    t, b, rows: as those of ``outer_product`` in ``sim/matraptor/result/outer.py``
    the others: as those of ``simulate`` in ``sim/matraptor/cycles/rows.py``

    Raises
    ------
    ValueError as ``outer_product``, or if a size is 0, which no job may have;
    :class:`QueueOverflow` if the sums of a lane do not fit.
    """
    check_operands(config, t, b, rows)
    if not rows or 0 in b.shape:
        sizes = " x ".join(str(size) for size in (rows, *b.shape))
        raise ValueError(f"the product must have sizes of at least 1, not {sizes}")
    overflow = overflow_rows(config, rows, b.shape[1])
    if len(overflow):
        raise QueueOverflow(int(overflow[0]), config.queue_depth, 0)
    left, right = canonical(to_csr(t)), canonical(to_csr(b))
    places = Places(t.pointers, b.pointers)
    work = outer_plan(config, left, right, places, rows)
    machine, work = set_up(config, work, latencies, cache)
    needed = by_outer_products(config, t, b, rows)
    begin(machine, work, needed.products)
    if log:
        machine = with_log(machine, needed.most_requests)
    machine.lanes["held_by"] = START
    # Sums are read without the registers of the queues.
    times = latency(config, latencies)._replace(sum=config.adder_stages + 2)
    sums = outer_state(config, machine, work, times, b.shape[1])
    # Far more than any job takes.
    most = 10_000 + 2_000 * (left.nnz + left.shape[0] + sum(needed.products) + sums.begun.size)
    numbers, dram, timings = bus(config, memory, gigahertz)
    totals = _run(numbers, machine, dram, timings, work, times, sums, most)
    kept = cache is not None and cache.kept
    limit = bound(config, needed, entries_of_c(machine), memory, gigahertz, kept=kept)
    found = report(config, machine, limit, rows, gigahertz, times, list(totals))
    return replace(found, requests=logged(machine, numbers)) if log else found
