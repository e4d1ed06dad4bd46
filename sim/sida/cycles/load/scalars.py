"""Cycle model of ``ScalarPort``, without what it compares."""

from __future__ import annotations

from typing import Any

from .....hw.spec.elementwise.instructions import SCALARS
from ....timing.compiled import called

__all__ = ["scalars_row_ready", "scalars_step"]

_LOAD, _READ, _KEEP, _GIVE, _LIMIT, _FIRST, _SECOND, _LAST, _CHECKED = range(9)


@called
def scalars_row_ready(m: Any) -> bool:
    """Whether a row of them may go; ``scalars_given``, ``checked``: in this cycle."""
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
