"""Cycle model of the load half: a cycle of all of it, around that of the half that computes."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called, inlined
from ...timing.striped.bus import look_at_ports, use_ports
from ...timing.striped.reader import reader_idle
from ...timing.striped.state import Bus
from .columns import columns_step
from .load_state import PROGRAM
from .order import order_offer, order_step, program_step, scalars_row_ready, scalars_step
from .panels import rows_offer, rows_step
from .vector_port import stores_idle, stores_offer, stores_step, vectors_offer, vectors_step


@called
def count(m: Any, now: int) -> None:
    """A cycle, when all that is offered in it is known."""
    counts = m.counts
    if m.set_elements:
        if not m.busy:
            m.first_at = now
        m.last_at = now
        m.busy += 1
        counts.elements += m.set_elements
    counts.conflicts += m.conflicts
    counts.wait_z += m.wait_z
    counts.wait_held += m.wait_held
    counts.instructions += m.executes
    counts.wait_elementwise += m.core_waits
    counts.lost += m.again.valid & m.again.ready
    if m.columns_pass and m.second_product:
        counts.held = max(counts.held, m.most)
    if m.comes:
        counts.column_cycles += 1
        counts.wait_columns += m.set.valid == 0
        if m.set.valid and m.set.ready and m.set.final:
            m.comes = 0
    if m.first:
        m.comes = 1


@inlined
def _is_quiet(m: Any, b: Bus) -> bool:
    """Tells whether no transfer to or from memory is in flight."""
    for number in range(b.c.readers):
        if not reader_idle(b, number):
            return False
    parts = m.columns_busy | m.panels_inside | m.program_busy | m.vectors_pending
    return parts == 0 and stores_idle(m, b)


@inlined
def _count_moved(m: Any, b: Bus, came: bool) -> None:
    """Counts the bytes moved while columns arrive; called after ``count``. ``came``: columns were
    still to arrive before it. A read is counted when it is taken, and a write when the memory does
    it: no sooner than it is moved."""
    ends = came and not m.comes
    if m.first or ends:
        moved = m.lines_taken * m.line_bytes
        for channel in range(b.c.channels):
            moved += b.channels[channel].written
            if not b.c.flat:
                moved -= b.dram.count[channel, 1] * b.c.interleave
        if ends:
            m.moved_with_columns += moved - m.moved_before
        else:
            m.moved_before = moved


@inlined
def load_offers(m: Any, b: Bus, now: int) -> None:
    """Drives the inputs of the other half in cycle ``now``; the job's first one is 0."""
    look_at_ports(m.ports, b)
    m.quiet = _is_quiet(m, b)
    m.program_idle = m.program_busy == 0 and reader_idle(b, PROGRAM)
    order_offer(m, now == 0)
    stores_offer(m, b)
    vectors_offer(m)
    rows_offer(m)


@inlined
def load_step(
    m: Any, b: Bus, pointers: Any, rows: Any, row_pointers: Any, columns: Any, ended: int, now: int
) -> None:
    """The cycle's end; ``pointers``, ``rows``: of the matrix by columns, ``row_pointers``,
    ``columns``: of that by rows; ``ended``: passes of the job."""
    came = m.comes != 0
    count(m, now)
    _count_moved(m, b, came)
    row = m.row_valid != 0 and m.row_whole != 0
    x_loaded = row and not m.loads_scalars and m.row_first + m.pes >= m.rows
    scalars_ready = scalars_row_ready(m)
    given = stores_step(m)
    m.whole.ready = m.requests.ready and not m.requests.valid
    loaded, saved = scalars_step(m, row and m.loads_scalars != 0, m.check, m.save, given)
    vectors_step(m, scalars_ready or not m.loads_scalars)
    columns_step(m, pointers, rows)
    rows_step(m, row_pointers, columns)
    program_step(m)
    order_step(m, loaded, x_loaded, saved, ended)
    m.lines_taken += use_ports(m.ports, b)
