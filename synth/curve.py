"""Area over the period: figures, their tables, and their drawing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.hw.spec.host.outputs import write_whole
from tilewright.hw.spec.host.plots import COLOURS, can_plot, write_plot

from .base.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

__all__ = [
    "CURVE_SUFFIXES",
    "CurvePoint",
    "EffortFigures",
    "curve_table",
    "effort_table",
    "require_picture",
    "write_curve",
]

CURVE_SUFFIXES = (".svg", ".png", ".csv")


@dataclass(frozen=True, kw_only=True)
class EffortFigures:
    """Area, without large memories, and slowest path in ns of a design that is mapped for "area"
    or for "speed"."""

    effort: str
    area: float
    ns: float


@dataclass(frozen=True)
class CurvePoint:
    """The smallest design that is found for a period: slowest path and area."""

    period_ns: float
    ns: float
    area: float


def effort_table(
    efforts: Sequence[EffortFigures], unit: str, fo4: float, shown: EffortFigures
) -> RenderableType:
    """Table of the efforts, and of the design ``shown``, if it is none of them."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("mapped for")
    for heading in (unit, "ns", "FO4"):
        table.add_column(heading, justify="right")
    table.add_column()
    known = [one for one in efforts if one.effort != shown.effort]
    for one in [*known, shown]:
        here = "this report" if one is shown else ""
        figures = f"{one.area:,.0f}", f"{one.ns:.3f}", f"{one.ns / fo4:.1f}"
        table.add_row(one.effort, *figures, here)
    return table


def curve_table(curve: Sequence[CurvePoint], unit: str) -> RenderableType:
    """Table of a curve."""
    from rich.table import Table

    table = Table(title="smallest area over period", title_justify="left")
    for heading in ("period, ns", "reached, ns", unit):
        table.add_column(heading, justify="right")
    for one in curve:
        table.add_row(f"{one.period_ns:.3f}", f"{one.ns:.3f}", f"{one.area:,.0f}")
    return table


def require_picture(path: Path) -> None:
    """Raises MissingExtra if a picture of this kind cannot be written here."""
    if path.suffix.lower() != ".csv" and not can_plot():
        raise MissingExtra("a drawn curve needs Matplotlib", "apps")


def write_curve(path: Path, title: str, curve: Sequence[CurvePoint], unit: str) -> None:
    """Write a curve, as CSV or drawn, by the path's suffix."""
    if path.suffix.lower() == ".csv":
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["period_ns", "reached_ns", f"area, {unit}"])
        lines.writerows([one.period_ns, one.ns, one.area] for one in curve)
        content = text.getvalue().encode()
        write_whole(path, lambda file: file.write(content))
        return

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([one.ns for one in curve], [one.area for one in curve], "s-", color=COLOURS[0])
        axes.set(xlabel="critical path, ns", ylabel=f"area, {unit}", title=title)
        axes.yaxis.set_major_formatter("{x:,.6g}")

    write_plot(path, title, draw)
