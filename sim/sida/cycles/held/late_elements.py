"""Cycle model of ``LateElements``: which elements of a set wait, and where."""

from __future__ import annotations

from typing import Any

from .....hw.spec.sida import DELAY
from ....timing.compiled import inlined
from .scatter import scatter_element, scatter_shares
from .state import IDLE, Held

__all__ = ["held_ready", "put_set"]


@inlined
def _is_late(m: Any, leaf: int) -> bool:
    panel = m.set.row[leaf] >> m.step_shift
    return panel + DELAY > m.set.base >> m.step_shift


@inlined
def _marks(m: Any) -> bool:
    """Whether the set completes a step."""
    complete = m.set.base + m.set.columns >= min(m.boundary, m.rows)
    return complete and m.boundary < m.rows + m.subtensor


@inlined
def held_ready(m: Any) -> bool:
    """Whether the set that is at ``m.set`` may enter."""
    if not m.late_known:
        m.late_known = 1
        m.late_any = 0
        for leaf in range(m.set.begin, m.set.end):
            if _is_late(m, leaf):
                m.late_any = 1
                break
    gives = m.late_any or _marks(m)
    return m.held_state != IDLE and not (gives and m.scatter_full)


@inlined
def put_set(m: Any, h: Held) -> None:
    """The set enters."""
    given = m.set
    marks = _marks(m)
    m.late_known = 0
    if m.late_any:
        for leaf in range(given.begin, given.end):
            if _is_late(m, leaf):
                panel = given.row[leaf] >> m.step_shift
                column = given.base + given.offset[leaf]
                bank = (column + panel) & (m.pes - 1)
                scatter_element(h.late, bank, panel, column >> m.pes_shift)
    if m.late_any or marks:
        m.scatter_full += scatter_shares(h.late, marks)
    if marks:
        m.boundary += m.subtensor
