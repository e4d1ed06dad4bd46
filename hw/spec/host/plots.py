"""Writes plots by Matplotlib, all in one style."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .outputs import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "PLOT_SUFFIXES", "can_plot", "on_any_page", "plotted", "write_plot"]

PLOT_SUFFIXES = (".svg", ".png", ".pdf")

COLOURS = ("#1b6ca8", "#c2571a", "#2e8b57", "#8a4fa3", "#b8860b", "#c0392b", "#555555")
"""Colours of series, in their order."""

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True, "axes.grid": True, "axes.titlelocation": "left",
    "axes.titlesize": "medium", "figure.dpi": 120, "font.size": 9, "grid.color": "#dddddd",
    "legend.fontsize": "small", "savefig.bbox": "tight", "svg.fonttype": "none",
    "svg.hashsalt": "tilewright",
}  # fmt: skip
_INCHES = 7.6, 4.8
_DATES = {"svg": "Date", "pdf": "CreationDate"}
"""Metadata with the time of writing, which are left out."""


def can_plot() -> bool:
    """Returns whether Matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write_plot(path: Path, title: str, draw: Callable[[Figure], None]) -> None:
    """Writes a plot as SVG, PNG or PDF, by the suffix of the path: see :func:`plotted`."""
    plot = plotted(path.suffix.lower()[1:], title, draw)
    write_whole(path, lambda file: file.write(plot))


def plotted(kind: str, title: str, draw: Callable[[Figure], None]) -> bytes:
    """Returns the bytes of a plot, which are the same with the same release of Matplotlib. An SVG
    is dark where the reader's pages are.

    Parameters
    ----------
    kind: "svg", "png" or "pdf"
    title: for readers that do not see the plot
    draw: draws into an empty figure
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    content = BytesIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=_INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        metadata = {"Title": title} | ({_DATES[kind]: None} if kind in _DATES else {})
        figure.savefig(content, format=kind, metadata=metadata)
    plot = content.getvalue()
    if kind == "svg":
        plot = on_any_page(plot.decode(), title).encode()
    return plot


def on_any_page(svg: str, title: str) -> str:
    """Returns an SVG that has a viewBox with a title, a ground and dark colours for dark pages."""
    opening = re.search(r'<svg [^>]*viewBox="0 0 (\S+) (\S+)"[^>]*>', svg)
    assert opening is not None
    width, height = opening.groups()
    first = (
        f"\n <title>{escape(title)}</title>\n <style>@media (prefers-color-scheme: dark)"
        "{svg{filter:invert(.9) hue-rotate(180deg)}}</style>"
        f'\n <rect width="{width}" height="{height}" fill="white"/>'
    )
    return svg[: opening.end()] + first + svg[opening.end() :]
