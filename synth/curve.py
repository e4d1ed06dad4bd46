"""Area over the period: figures, their tables, and their drawing."""

from __future__ import annotations

import csv
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.hw.spec.host.outputs import write_whole

from .base.errors import MissingExtra

if TYPE_CHECKING:
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
    if path.suffix.lower() == ".png" and importlib.util.find_spec("PIL") is None:
        raise MissingExtra("a curve as PNG needs Pillow", "apps")


def write_curve(path: Path, title: str, curve: Sequence[CurvePoint], unit: str) -> None:
    """Write a curve, as CSV or drawn, by the path's suffix."""
    kind = path.suffix.lower()
    if kind == ".csv":
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["period_ns", "reached_ns", f"area, {unit}"])
        lines.writerows([one.period_ns, one.ns, one.area] for one in curve)
        content = text.getvalue().encode()
    elif kind == ".svg":
        content = _Svg().drawn(title, curve, unit)
    else:
        content = _Png().drawn(title, curve, unit)
    write_whole(path, lambda file: file.write(content))


WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 90, 20, 40, 50


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, five or so."""
    step = 10.0 ** int(f"{(high - low) / 5 or 1:e}".partition("e")[2])
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step * 5 >= high - low)
    first = -int(-low // step)
    return [n * step for n in range(first, int(high // step) + 1)]


class _Drawing(ABC):
    """A picture of lines and words, which each format has in its own way."""

    @abstractmethod
    def line(self, points: Sequence[tuple[float, float]], *, pale: bool = False) -> None:
        """A line through points."""

    @abstractmethod
    def word(self, x: float, y: float, text: str, anchor: str) -> None:
        """A text around a place, for the anchor "middle", or one that ends there."""

    def curve(self, title: str, curve: Sequence[CurvePoint], unit: str) -> None:
        """Draw axes with their numbers, and the points, joined."""
        xs, ys = [one.ns for one in curve] or [0.0], [one.area for one in curve] or [0.0]
        pads = [0.05 * (max(each) - min(each)) or 0.05 * max(each) or 1.0 for each in (xs, ys)]
        x0, x1, y0, y1 = min(xs) - pads[0], max(xs) + pads[0], min(ys) - pads[1], max(ys) + pads[1]

        def at(x: float, y: float) -> tuple[float, float]:
            across, up = (x - x0) / (x1 - x0), (y - y0) / (y1 - y0)
            height = HEIGHT - TOP - BOTTOM
            return LEFT + across * (WIDTH - LEFT - RIGHT), TOP + (1 - up) * height

        self.word(WIDTH / 2, 20, title, "middle")
        for x in _ticks(x0, x1):
            self.line([at(x, y0), at(x, y1)], pale=True)
            self.word(at(x, y0)[0], HEIGHT - BOTTOM + 18, f"{x:g}", "middle")
        for y in _ticks(y0, y1):
            self.line([at(x0, y), at(x1, y)], pale=True)
            self.word(LEFT - 8, at(x0, y)[1] + 4, f"{y:,g}" if y < 1e6 else f"{y:.3g}", "end")
        self.line([at(x0, y1), at(x0, y0), at(x1, y0)])
        self.word(WIDTH / 2, HEIGHT - 10, "slowest path, ns", "middle")
        self.word(LEFT, TOP - 6, f"area, {unit}", "middle")
        points = [at(one.ns, one.area) for one in curve]
        self.line(points)
        for x, y in points:
            corners = (-3, -3), (3, -3), (3, 3), (-3, 3), (-3, -3)
            self.line([(x + right, y + down) for right, down in corners])


class _Svg(_Drawing):
    def __init__(self) -> None:
        self.parts: list[str] = []

    def line(self, points: Sequence[tuple[float, float]], *, pale: bool = False) -> None:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        color = "#ccc" if pale else "#000"
        self.parts.append(f'<polyline points="{places}" fill="none" stroke="{color}"/>')

    def word(self, x: float, y: float, text: str, anchor: str) -> None:
        plain = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{plain}</text>')

    def drawn(self, title: str, curve: Sequence[CurvePoint], unit: str) -> bytes:
        self.curve(title, curve, unit)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            "<style>@media (prefers-color-scheme: dark)"
            "{svg{filter:invert(.9) hue-rotate(180deg)}}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            *self.parts,
            "</svg>",
        ]
        return "\n".join([*lines, ""]).encode()


class _Png(_Drawing):
    def __init__(self) -> None:
        from PIL import Image, ImageDraw

        self.image = Image.new("RGB", (2 * WIDTH, 2 * HEIGHT), "white")
        self.draw = ImageDraw.Draw(self.image)

    def line(self, points: Sequence[tuple[float, float]], *, pale: bool = False) -> None:
        color = "#cccccc" if pale else "#000000"
        self.draw.line([(2 * x, 2 * y) for x, y in points], fill=color, width=2)

    def word(self, x: float, y: float, text: str, anchor: str) -> None:
        place = {"middle": "ms", "end": "rs"}[anchor]
        self.draw.text((2 * x, 2 * y), text, fill="#000000", anchor=place, font_size=24)

    def drawn(self, title: str, curve: Sequence[CurvePoint], unit: str) -> bytes:
        self.curve(title, curve, unit)
        content = BytesIO()
        self.image.save(content, format="PNG")
        return content.getvalue()
