"""Draws crossovers: sizes over latency for one block, and a ring for each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING

from ...hw.spec.host.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...sim.tcu.crossovers import Comparison, UnitModel

__all__ = ["draw"]

_OCTAVES, _STEPS = 20, 4
"""Octaves of latency from 1 on, and points in each."""
_RINGS = "a unit of the table"


def draw(
    figure: Figure,
    *,
    comparisons: Mapping[str, Comparison],
    units: Sequence[UnitModel],
    side: int,
    cpu: float,
) -> None:
    """Draws the size from which an algorithm pays over the latency of the unit. A line ends where
    an algorithm stops paying; a latency below 1 is drawn at 1."""
    from ...sim.tcu.crossovers import UnitModel, crossover

    axes = figure.subplots()
    latencies = [2 ** (step / _STEPS) for step in range(_OCTAVES * _STEPS + 1)]
    named = [unit for unit in units if unit.name]
    for (name, one), colour in zip(comparisons.items(), COLOURS, strict=False):
        found = [crossover(one, UnitModel("", side, latency), cpu) for latency in latencies]
        rings = [(unit, crossover(one, unit, cpu)) for unit in named]
        pays = any(size is not None for size in (*found, *(size for _, size in rings)))
        sizes = [nan if size is None else size for size in found]
        axes.plot(latencies, sizes, color=colour, label=f"{name}: {one.size if pays else 'never'}")
        places = [(max(unit.latency, 1), size) for unit, size in rings if size is not None]
        axes.plot(*zip(*places, strict=True) if places else ([], []), "o", color=colour,
                  markerfacecolor="none")  # fmt: skip
    if named:
        axes.plot([], [], "o", color="black", markerfacecolor="none", label=_RINGS)
    axes.set(
        xlabel="latency l, words", ylabel="smallest size for which the first pays",
        title=f"Crossovers for m = {side**2:,}, a CPU word takes {cpu:g}",
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
