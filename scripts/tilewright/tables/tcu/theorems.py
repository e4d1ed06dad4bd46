"""The theorems of the TCU model beside counts: exponents and constants, and the bound of weak
units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...numbers_given import whole
from ...synth.tables import Row, Table
from .asked import asked

if TYPE_CHECKING:
    from ...sim.tcu.theorems import Theorem

__all__ = ["COLUMNS", "tcu_theorems"]

COLUMNS = [
    "unit time: theorem's exponent", "fitted", "constant",
    "CPU words: theorem's exponent", "fitted", "constant",
]  # fmt: skip
_DIGITS = (3, 3, 3, 3, 3, 3)


def tcu_theorems(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    settings: Sequence[str] = (),
) -> Table:
    """Tabulates for each theorem the exponent of its time over a sweep of sizes, latency left out,
    and the exponents fitted to the unit's time and the CPU's words. Each constant is the count at
    the largest size over the theorem's term. Counts are those of the formulas, which runs equal.
    Below, Theorem 12: time of weak units over the bound.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    settings: ``s=16``, the unit's side

    Raises UserError for another target and for other settings.
    """
    given = asked("tcu-theorems", target, settings, {"s": whole("--set s", 2, 256)})
    from ...sim.tcu.theorems import BOUNDS, THEOREMS

    side = given.get("s", 16)
    rows = []
    for name, one in {**THEOREMS, **BOUNDS}.items():
        progress(name)
        rows.append(_row(name, one, side, bound=name in BOUNDS))
    return Table(f"tcu-theorems, s = {side}", "formulas", COLUMNS, rows)


def _row(name: str, one: Theorem, side: int, *, bound: bool) -> Row:
    from ...sim.tcu.theorems import growth

    sizes = one.sizes(side)
    terms = [one.time(size, side) for size in sizes]
    costs = [one.cost(size, side) for size in sizes]
    unit = growth(sizes, terms, [cost.unit_time(side) for cost in costs])
    cpu = [None] * 3 if bound else growth(sizes, terms, [cost.cpu for cost in costs])
    return Row(f"{one.theorem} {name}: {one.term}", [None] * 6, [*unit, *cpu], _DIGITS)
