"""Cycle model of the load half: a cycle of all of it, around that of the half that computes."""

from __future__ import annotations

from typing import Any

from ....hw.spec.elementwise.instructions import SCALARS
from ...timing.compiled import called, inlined
from ...timing.striped.bus import look_at_ports, use_ports
from ...timing.striped.memory import Bus
from ...timing.striped.reader import reader_idle
from .columns import columns_step, entries_step, entry_ends
from .load_state import PROGRAM, PROGRAM_ENTRIES, WORD_BYTES
from .panels import rows_offer, rows_step
from .vector_port import stores_idle, stores_offer, stores_step, vectors_offer, vectors_step

_LOAD, _READ, _KEEP, _GIVE, _LIMIT, _FIRST_STOP, _SECOND_STOP, _LAST, _CHECKED = range(9)


@called
def scalars_row_ready(m: Any) -> bool:
    """Tells whether a row of scalars may be sent; sets ``scalars_given`` and ``checked``."""
    state, last = m.scalars_state, min(m.pes, SCALARS) - 1
    m.scalars_given = state == _GIVE
    m.checked = state == _CHECKED
    return bool(state == _LOAD and m.scalars_place & last == last)


@called
def scalars_step(m: Any, row: bool, check: bool, save: bool, taken: bool) -> tuple[bool, bool]:
    """A cycle: whether the last scalar is loaded, and whether the last row is saved.

    ``row``: of scalars there is one; ``check``, ``save``: pulses; ``taken``: what is given.
    """
    state, place = m.scalars_state, m.scalars_place
    last = min(m.pes, SCALARS) - 1
    ends = place == SCALARS - 1
    following = place + 1 & SCALARS - 1
    if state == _LOAD:
        if row:
            m.scalars_place = following
        if save:
            m.scalars_state = _READ
        elif check:
            m.scalars_state = _LIMIT
        return row and ends, False
    if state == _READ:
        m.scalars_state = _KEEP
    elif state == _KEEP:
        if place & last == last:
            m.scalars_state = _GIVE
        else:
            m.scalars_state = _READ
            m.scalars_place = following
    elif state == _GIVE:
        if taken:
            m.scalars_state = _LOAD if ends else _READ
            m.scalars_place = following
        return False, taken and ends
    elif state == _CHECKED:
        m.scalars_state = _LOAD
    else:
        m.scalars_state = state + 1
    return False, False


@called
def program_step(m: Any) -> None:
    """Advances one cycle; ``program_start``: the pulse."""
    if not m.program_busy and not m.program_start:
        return
    e = m.entries[PROGRAM_ENTRIES]
    over = entry_ends(e) and m.program_busy != 0
    entries_step(e, m.ports[PROGRAM], m.line_bytes, True)
    if over:
        m.program_busy = 0
    if m.program_start:
        m.program_busy = 1
        e.asks = 1
        e.address = m.program_base
        e.bytes = m.words * WORD_BYTES
        e.count = m.words


(_IDLE, _ASK_SCALARS, _LOAD_SCALARS, _ASK_X, _LOAD_X, _LOAD_PROGRAM, _FIRST, _FIRST_PRODUCT, _TURN,
 _SECOND, _SECOND_PRODUCT, _CHECK, _COMPARE, _NEXT, _SAVE, _SAVE_SCALARS, _WRITE,
 _END) = range(18)  # fmt: skip


@called
def order_offer(m: Any, go: bool) -> None:
    """Drives the outputs of the job's sequencer in a cycle; ``go``: the job begins in it."""
    state, whole = m.order_state, m.whole
    m.program_start = state == _IDLE and go
    m.first = state == _FIRST
    m.second = state == _SECOND
    m.columns_start = m.first
    m.columns_pass = state == _FIRST_PRODUCT
    m.loads_scalars = state == _LOAD_SCALARS
    m.check = state == _CHECK
    m.save = state == _SAVE
    m.finished = state == _END
    whole.valid = state in (_ASK_SCALARS, _ASK_X)
    if state == _ASK_SCALARS:
        whole.address = m.scalars
        whole.columns = SCALARS
    elif state == _ASK_X:
        whole.address = m.x
        whole.columns = m.rows


@called
def _after_product(m: Any, over: bool) -> int:
    """Returns the state after the first product: the second product, if the job has one."""
    if not (over and (m.sums_done or not m.second_product)):
        return _FIRST_PRODUCT
    return _SECOND if m.second_product else _TURN


@called
def _loading(m: Any, loaded: bool, x_loaded: bool) -> int:
    """The state after one in which the job is loaded."""
    state = m.order_state
    asked = m.whole.ready != 0
    goes = m.program_start != 0
    if state in (_ASK_SCALARS, _ASK_X):
        goes = asked
    elif state == _LOAD_SCALARS:
        goes = loaded
    elif state == _LOAD_X:
        goes = x_loaded
    elif state == _LOAD_PROGRAM:
        goes = m.program_idle != 0
    return int(state + goes)


@called
def order_step(m: Any, loaded: bool, x_loaded: bool, saved: bool, ended: int) -> None:
    """A cycle. ``loaded``: all scalars; ``x_loaded``: x; ``saved``: the scalars; ``ended``: passes
    of the job."""
    state = m.order_state
    over = m.part_over != 0 and m.quiet != 0
    if state <= _LOAD_PROGRAM:
        m.order_state = _loading(m, loaded, x_loaded)
    elif state in (_FIRST, _SECOND):
        m.part_over = 0
        m.order_state = state + 1
    elif state == _FIRST_PRODUCT:
        m.order_state = _after_product(m, over)
    elif state == _TURN:
        m.turned = 1 - m.turned
        m.order_state = _CHECK
    elif state == _SECOND_PRODUCT:
        if over:
            m.order_state = _CHECK
    elif state == _CHECK:
        m.passes_done += 1
        m.order_state = _COMPARE
    elif state == _COMPARE:
        if m.checked:
            m.order_state = _NEXT
    elif state == _NEXT:
        m.order_state = _SAVE if m.passes_done == ended else _FIRST
    elif state == _SAVE:
        m.order_state = _SAVE_SCALARS
    elif state == _SAVE_SCALARS:
        if saved:
            m.order_state = _WRITE
    elif state == _WRITE and m.quiet:
        m.order_state = _END
    if m.core_done:
        m.part_over = 1


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
