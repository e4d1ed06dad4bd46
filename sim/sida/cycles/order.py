"""Cycle model of ``PassControl``."""

from __future__ import annotations

from typing import Any

from ....hw.spec.elementwise.instructions import SCALARS
from ...timing.compiled import called
from .columns import entries_step
from .load_state import PROGRAM, PROGRAM_ENTRIES, WORD_BYTES

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
    over = e.valid != 0 and e.last != 0 and m.program_busy != 0
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
