"""Draws what ``tilewright table`` measured, for checks of the drawing."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tilewright.tables.plot import bars


def panels(measured: Any) -> list[Axes]:
    """The panels of a drawing."""
    figure = Figure()
    if measured.drawing is None:
        bars(figure, measured.parts)
    else:
        measured.drawing(figure)
    return figure.get_axes()


def points(axes: Axes, label: str | None = None) -> list[tuple[float, float]]:
    """The points of all lines of a panel, or of those with a label."""
    lines = [line for line in axes.get_lines() if label in (None, line.get_label())]
    return [place for line in lines for place in places(line)]


def places(line: Any) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in line.get_xydata()]


def lengths(axes: Axes) -> list[float]:
    """The lengths of all horizontal bars of a panel."""
    bars: Any = axes.patches
    return [float(bar.get_width()) for bar in bars]
