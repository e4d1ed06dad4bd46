"""Cycle model of the MatRaptor accelerator: how long a product takes, and what it moves.

Every cycle of every lane is stepped through, on the structure of the matrices alone; values do not
matter. Source: MatRaptor, sections on the architecture and the experimental setup.
"""

from __future__ import annotations

from typing import Any

from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel
from .bound import bound, by_rows
from .breakdown import A_WAIT, B_PAIRS, B_ROWS, CONFLICT, DRAIN, IDLE, PRODUCT, ROW_END, START
from .bus import bus, bus_step
from .element import emit, merge, multiply, offer
from .loaders import NOTHING, asked, has_left, load_a, load_b
from .plan import Places, Plan, canonical, packed, plan
from .report import Cycles, QueueOverflow, entries_of_c, report
from .state import Latency, Shape, State, begin, latency, state
from .writer import write_rows


@inlined
def _missing(s: State, lane: int, fed: int, now: int) -> int:
    """Returns the reason for which a multiplier with room for a product waits."""
    record = s.lanes[lane]
    if record.port_count and s.port[lane, 0, 4] <= now:
        # If it takes none the channel's queue is full.
        taken_at = s.channels[s.port[lane, 0, 0]].granted_at
        if record.granted_at < now and taken_at == now:
            return CONFLICT
    if fed:
        return A_WAIT
    if record.kept_out < record.kept_in:
        return B_ROWS
    if record.described >= 0 or record.token_row < record.token_lookup:
        return B_PAIRS
    return A_WAIT


@inlined
def account(s: State, lane: int, waiting: int, took: int, passed: int, fed: int, now: int) -> None:
    """Count a cycle of a lane, before its loaders' step.

    ``waiting``, ``took``: of `multiply`; ``passed``: whether anything went into the multiplier;
    ``fed``: whether a row of B is at hand, so that it can but wait for A.
    """
    record = s.lanes[lane]
    if took:
        reason = PRODUCT
    elif record.products == record.due:
        reason = DRAIN
    elif record.products == 0:
        reason = START
    elif waiting == 2:
        reason = record.held_by
    elif passed:
        reason = ROW_END
    else:
        reason = _missing(s, lane, fed, now)
    s.spent[lane, reason] += 1


__all__ = ["Cycles", "QueueOverflow", "simulate"]


@compiled
def _run(c: Shape, s: State, d: Any, dram: Any, p: Plan, t: Latency, most: int) -> Any:
    """Step until all lanes have finished. Returns (cycles, first product, last product, cycles
    with a product, lane with a full queue or -1)."""
    first, last, busy = -1, -1, 0
    for now in range(t.start, most):
        bus_step(c, s, d, dram, t, now)
        finished, products = 0, 0
        for lane in range(c.lanes):
            if s.lanes[lane].finished:
                finished += 1
                s.spent[lane, IDLE] += 1
                continue
            taken = write_rows(c, s, p, t, lane, now)
            waiting = s.lanes[lane].products_made - s.lanes[lane].products_out
            if not merge(c, s, p, t, lane, now):
                return now, first, last, busy, lane
            before = s.lanes[lane].multiplied
            took = multiply(s, t, lane, waiting)
            products += took
            account(s, lane, waiting, took, s.lanes[lane].multiplied > before, 0, now)
            emit(c, s, t, lane, now, taken)
            offered = has_left(s, lane, asked(s, t, lane), now)
            held = s.lanes[lane].products_in > s.lanes[lane].multiplied
            sent = load_b(c, s, p, t, lane, now, offered, held)
            if sent != NOTHING:
                offer(s, lane, sent & 1)
            load_a(c, s, p, t, lane, now, asked(s, t, lane))
        if products:
            busy += 1
            last = now
            if first < 0:
                first = now
        if finished == c.lanes:
            return now + t.finish, first, last, busy, -1
    return -1, first, last, busy, -1


def simulate(
    config: MatRaptorConfig,
    a: Any,
    b: Any,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    latencies: Latency | None = None,
    places: Places | None = None,
) -> Cycles:
    """Multiply sparse matrices in the cycle model.

    Parameters
    ----------
    config: of the accelerator
    a, b: (rows, inner), (inner, columns), anything that SciPy makes a sparse array of; duplicates
        count once
    memory: each channel's
    gigahertz: clock of the accelerator
    latencies: of its parts, if not those of the hardware
    places: where the rows of a and b are, if there is anything between them

    Raises
    ------
    ValueError if the shapes do not fit; :class:`QueueOverflow` if a row does not fit the queues;
    :class:`BoundBroken` if the model is wrong.
    """
    a, b = canonical(a), canonical(b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"`b` must have {a.shape[1]} rows, not {b.shape[0]}")
    places = places or packed(a, b, config.channels)
    work, machine = plan(config, a, b, places), state(config)
    needed = by_rows(config, a, b, places)
    begin(machine, work, needed.products)
    times = latency(config, latencies)
    # Far more than any job takes.
    most = 10_000 + 2_000 * (a.nnz + a.shape[0] + sum(needed.products))
    numbers, dram, timings = bus(config, memory, gigahertz)
    *totals, full = _run(numbers, machine, dram, timings, work, times, most)
    if full >= 0:
        row = machine.lanes[full]["merge_row"]
        raise QueueOverflow(int(work.row_number[row]), config.queue_depth)
    limit = bound(config, needed, entries_of_c(machine), memory, gigahertz)
    return report(config, machine, limit, a.shape[0], gigahertz, times, totals)
