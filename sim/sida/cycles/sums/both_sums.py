"""Cycle model of ``BothSums``: it never waits."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined

__all__ = ["sums_offer", "sums_step"]


@inlined
def sums_offer(m: Any) -> None:
    """The results that leave in this cycle."""
    columns = m.sums_columns[m.sums_at]
    m.results.valid = columns != 0
    m.results.base = m.sums_base[m.sums_at]
    m.results.columns = columns


@inlined
def sums_step(m: Any) -> None:
    """A cycle; takes the set that Gather has at its output."""
    given = m.gathered
    m.set_elements = given.elements if given.valid else 0
    m.sums_base[m.sums_at] = given.base
    m.sums_columns[m.sums_at] = given.columns if given.valid else 0
    following = m.sums_at + 1
    m.sums_at = following if following < m.sums_latency else 0
