"""Cycle model of MatRaptor's second mode: how long an outer product takes, and what it moves.

As ``sim/matraptor/cycles/rows.py``, with other parts between the loaders and the writer.
Source: MatRaptor, sections on the outer product and on future work.
"""

from __future__ import annotations

from typing import Any

from ....hw.spec.matraptor import MatRaptorConfig
from ...sparse.c2sr import C2sr, to_csr
from ...timing.compiled import compiled
from ...timing.dram import FLAT, MemoryModel
from ..result.outer import check_operands, overflow_rows
from .account import account
from .bound import bound
from .breakdown import IDLE, START
from .bus import bus, bus_step
from .element import multiply
from .loaders import NOTHING, asked, load_a, load_b
from .outer_parts import drain, hold, is_offered, replay, sum_up, take_columns
from .outer_state import OuterState, outer_plan, outer_state
from .plan import Places, Plan, canonical
from .report import Cycles, QueueOverflow, entries_of_c, report
from .state import Latency, Shape, State, begin, latency, state
from .traffic import by_outer_products
from .writer import write_rows

__all__ = ["simulate_outer"]


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
            # Results wait in a buffer, not in the adders of phase II.
            record.adders = now
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
            token = asked(s, t, lane)
            offered = is_offered(c, s, p, o, lane, now)
            sent = load_b(c, s, p, t, lane, now, offered, o.lanes[lane].held)
            if sent != NOTHING:
                hold(o, lane, sent)
            take_columns(c, s, p, o, lane, now, asked(s, t, lane) > token)
            load_a(c, s, p, t, lane, now, o.lanes[lane].taken)
        if products:
            busy += 1
            last = now
            if first < 0:
                first = now
        if finished == c.lanes:
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
        raise QueueOverflow(int(overflow[0]), config.queue_depth)
    left, right = canonical(to_csr(t)), canonical(to_csr(b))
    places = Places(t.pointers, b.pointers)
    work, machine = outer_plan(config, left, right, places, rows), state(config)
    needed = by_outer_products(config, t, b, rows)
    begin(machine, work, needed.products)
    machine.lanes["held_by"] = START
    # Behind the lines there is but the buffer.
    times = latency(config, latencies)._replace(result=1)
    sums = outer_state(config, machine, work, times, b.shape[1])
    # Far more than any job takes.
    most = 10_000 + 2_000 * (left.nnz + left.shape[0] + sum(needed.products) + sums.begun.size)
    numbers, dram, timings = bus(config, memory, gigahertz)
    totals = _run(numbers, machine, dram, timings, work, times, sums, most)
    limit = bound(config, needed, entries_of_c(machine), memory, gigahertz)
    return report(config, machine, limit, rows, gigahertz, times, list(totals))
