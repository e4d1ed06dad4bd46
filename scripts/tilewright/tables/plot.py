"""Plots tables: bars of every column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..hw.spec.host.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..synth.tables import Table

__all__ = ["bars", "has_figures"]

_SPREAD = 50
"""Positive values of a column whose largest is more times the least have a logarithmic axis."""
_ACROSS = 4
"""Most columns of bars beside each other."""


def bars(figure: Figure, parts: Sequence[Table]) -> None:
    """Draws a band of panels for each table, one panel per column with a figure."""
    shown = [(part, _drawn(part)) for part in parts]
    shown = [(part, columns) for part, columns in shown if columns]
    heights = [
        -(-len(columns) // _ACROSS) * (0.9 + 0.22 * len(part.rows)) for part, columns in shown
    ]
    width = 3 + 2.2 * max((min(_ACROSS, len(columns)) for _, columns in shown), default=1)
    figure.set_size_inches(width, max(2.0, sum(heights) + 0.4 * len(shown)))
    bands = figure.subfigures(len(shown), 1, squeeze=False, height_ratios=heights)
    for (part, columns), (band,) in zip(shown, bands, strict=True):
        band.suptitle(f"{part.table}, {part.target}", x=0.01, ha="left", fontsize="medium")
        down = -(-len(columns) // _ACROSS)
        across = min(_ACROSS, len(columns))
        panels = [*band.subplots(down, across, squeeze=False, sharey=True).flat]
        for panel, column in zip(panels, columns, strict=False):
            _panel(panel, part, column)
        for panel in panels[len(columns) :]:
            panel.set_axis_off()


def has_figures(parts: Sequence[Table]) -> bool:
    """Returns whether any table has a figure, so that there is something to draw."""
    return any(map(_drawn, parts))


def _drawn(part: Table) -> list[int]:
    """The columns of a table that have a figure."""
    return [
        column
        for column in range(len(part.columns))
        if any(side[column] is not None for row in part.rows for side in (row.ours, row.paper))
    ]


def _panel(axes: Axes, part: Table, column: int) -> None:
    """Draws a column: a bar for each row, and a mark for the paper's figure."""
    ours, paper = (
        [(number, value) for number, row in enumerate(part.rows)
         if (value := getattr(row, side)[column]) is not None]
        for side in ("ours", "paper")
    )  # fmt: skip
    if ours:
        places, lengths = zip(*ours, strict=True)
        axes.barh(places, lengths, color=COLOURS[0], height=0.7, label="ours")
    if paper:
        places, values = zip(*paper, strict=True)
        axes.plot(values, places, "D", color=COLOURS[1], markersize=5, label="paper")
        axes.legend()
    every = [value for _, value in (*ours, *paper)]
    if min(every) > 0 and max(every) > _SPREAD * min(every):
        axes.set_xscale("log")
    axes.set_yticks(range(len(part.rows)), [row.label for row in part.rows])
    axes.set_ylim(len(part.rows) - 0.5, -0.5)
    axes.set_title(part.columns[column])
    axes.grid(visible=False, axis="y")
