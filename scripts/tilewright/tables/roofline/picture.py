"""A roofline as a drawing: both axes logarithmic, a dot for each product."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from ..drawing import drawn
from .point import Point, Roof

__all__ = ["COLOURS", "picture"]

COLOURS = {
    "tensors": "#1b6ca8",
    "layers": "#c2571a",
    "matrices": "#2e8b57",
    "densities": "#8a4fa3",
    "measurements": "#b8860b",
}
"""Colours of the groups' dots."""

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 590, 50, 420
_LEGEND = 610


class _Axes:
    """Maps intensities and rates to places of the drawing."""

    def __init__(self, intensities: Sequence[float], rates: Sequence[float]) -> None:
        self.x = floor(log10(min(intensities))), ceil(log10(max(intensities)))
        self.y = floor(log10(min(rates))), ceil(log10(max(rates)))

    @staticmethod
    def _place(value: float, ends: tuple[int, int], low: float, high: float) -> float:
        part = (log10(value) - ends[0]) / max(1, ends[1] - ends[0])
        return low + (high - low) * part

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        """A point's place."""
        x = self._place(intensity, self.x, _LEFT, _RIGHT)
        return x, self._place(rate, self.y, _BOTTOM, _TOP)


def picture(title: str, roof: Roof, points: Sequence[Point]) -> str:
    """The drawing, an SVG. Dots under the roof of one lane a row, products with a vector, are
    hollow."""
    knee = roof.operations / roof.bytes
    axes = _Axes(
        [*(point.intensity for point in points), knee / 8, knee * 8],
        [*(point.reached for point in points), roof.row_operations / 8, roof.operations * 1.5],
    )
    parts = [
        *_grid(axes),
        *_roofs(axes, roof),
        *_dots(axes, points),
        *_legend(points),
    ]
    return drawn(title, parts, size=(_WIDTH, _HEIGHT), title_at=(_LEFT, 26))


def _grid(axes: _Axes) -> list[str]:
    found = []
    for power in range(axes.x[0], axes.x[1] + 1):
        x, _ = axes.at(10.0**power, 1)
        found.append(_line((x, _BOTTOM), (x, _TOP), "#dddddd"))
        found.append(f'<text x="{x:.1f}" y="{_BOTTOM + 18}" class="m l">{10.0**power:g}</text>')
    for power in range(axes.y[0], axes.y[1] + 1):
        _, y = axes.at(1, 10.0**power)
        found.append(_line((_LEFT, y), (_RIGHT, y), "#dddddd"))
        found.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="e l">{10.0**power:g}</text>')
    middle = (_LEFT + _RIGHT) / 2
    found.append(f'<text x="{middle}" y="{_BOTTOM + 42}" class="m">operations a byte</text>')
    found.append(f'<text x="{_LEFT}" y="{_TOP - 8}" class="l">GOP/s</text>')
    return found


def _roofs(axes: _Axes, roof: Roof) -> list[str]:
    """The memory's slope, up to where the array ends it, and both of the array's."""
    right = 10.0 ** axes.x[1]
    low = max(10.0 ** axes.x[0], 10.0 ** axes.y[0] / roof.bytes)
    found = []
    for rate, dashes in ((roof.operations, ""), (roof.row_operations, "4 3")):
        knee = rate / roof.bytes
        found.append(_line(axes.at(knee, rate), axes.at(right, rate), "#222222", dashes))
    knee = roof.operations / roof.bytes
    found.append(_line(axes.at(low, low * roof.bytes), axes.at(knee, roof.operations), "#222222"))
    return found


def _line(
    begin: tuple[float, float], end: tuple[float, float], colour: str, dashes: str = ""
) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}"{dashed}/>'
    )


def _dots(axes: _Axes, points: Sequence[Point]) -> list[str]:
    found = []
    for point in points:
        x, y = axes.at(point.intensity, point.reached)
        colour = COLOURS[point.group]
        fill = "white" if point.kernel == "mv" else colour
        said = f"{point.label}, {point.kernel}, F = {point.columns}: {100 * point.ratio:.1f} %"
        found.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" fill-opacity="0.7" '
            f'stroke="{colour}"><title>{escape(said)}</title></circle>'
        )
    return found


def _legend(points: Sequence[Point]) -> list[str]:
    groups = [group for group in COLOURS if any(point.group == group for point in points)]
    rows = [(COLOURS[group], COLOURS[group], group) for group in groups]
    if any(point.kernel == "mv" for point in points):
        rows.append(("#555555", "white", "times a vector: dashed roof"))
    found = []
    for number, (stroke, fill, words) in enumerate(rows):
        y = _TOP + 14 + 20 * number
        found.append(f'<circle cx="{_LEGEND}" cy="{y}" r="4" fill="{fill}" stroke="{stroke}"/>')
        found.append(f'<text x="{_LEGEND + 10}" y="{y + 4}" class="l">{words}</text>')
    return found
