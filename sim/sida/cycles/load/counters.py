"""Cycle model of ``Counters``: what is counted cycle by cycle."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["count"]


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
