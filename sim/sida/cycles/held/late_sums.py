"""Cycle model of ``LateSums`` and of ``FirstValues``: what is added to w, one by one."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .state import Held

__all__ = ["sum_idle", "sum_step"]


@inlined
def sum_idle(m: Any, h: Held, number: int) -> bool:
    """Whether nothing is on its way."""
    bank = h.banks[number]
    return bank.advanced - bank.entered > m.late_stages


@inlined
def sum_step(m: Any, h: Held, number: int, there: bool, place: int) -> bool:
    """A cycle of a bank of w, in which an element is ``there``; returns whether the bank would take
    one of this place."""
    if (number - m.first_base) & (m.pes - 1) < m.first_count:
        # A first value is written.
        return False
    bank = h.banks[number]
    ready = True
    last = len(h.recent[number]) - 1
    for age in range(1, m.add_stages):
        ready = ready and h.recent[number, (bank.advanced - age) & last] != place
    enters = there and ready
    h.recent[number, bank.advanced & last] = place if enters else -1
    if enters:
        bank.entered = bank.advanced
    bank.advanced += 1
    return ready
