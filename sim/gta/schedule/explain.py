"""A space of schedules as lines of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .choice import Ranked

__all__ = ["COLUMNS", "Line", "explain"]

COLUMNS: tuple[str, ...] = (
    "cycles", "busy, %", "a", "b", "sums in", "sums out", "bytes", "cycles over least",
    "accesses over least", "score",
)  # fmt: skip
"""Of a line. From a to sums out, accesses; these, cycles and bytes in thousands."""

_THOUSAND = 1000


@dataclass(frozen=True, kw_only=True)
class Line:
    """A schedule.

    Parameters
    ----------
    label: the schedule and how it covers the array
    figures: see ``COLUMNS``
    """

    label: str
    figures: tuple[float, ...]


def explain(found: Sequence[Ranked]) -> list[Line]:
    """In the order that is given: the chosen one is first of `ranked`."""
    lines = []
    for one in found:
        each, cost = one.evaluated, one.evaluated.cost
        accesses = cost.accesses
        counts = (accesses.a, accesses.b, accesses.sums_read, accesses.sums_written)
        figures = (
            cost.cycles / _THOUSAND,
            100 * each.utilisation,
            *(count / _THOUSAND for count in (*counts, cost.moved.total)),
            one.cycles,
            one.accesses,
            one.score,
        )
        lines.append(Line(label=f"{each.schedule.words}: {each.coverage}", figures=figures))
    return lines
