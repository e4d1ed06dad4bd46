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
    """Transposed, all are."""
    panel = m.set.row[leaf] >> m.step_shift
    return m.transposed != 0 or panel + DELAY > m.set.base >> m.step_shift


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
                row, column = given.row[leaf], given.base + given.offset[leaf]
                # The number of its operand, and that of its sum.
                key = column if m.transposed else row
                target = row if m.transposed else column
                panel = key >> m.step_shift
                bank = (target + panel) & (m.pes - 1)
                scatter_element(h.late, bank, panel, target >> m.pes_shift)
    if m.late_any or marks:
        m.scatter_full += scatter_shares(h.late, marks)
    if marks:
        m.boundary += m.subtensor
