"""Crossovers as a drawing: sizes over latency for one block, and a ring for each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from math import log2
from typing import TYPE_CHECKING

from ..drawing import drawn

if TYPE_CHECKING:
    from ...sim.tcu.crossovers import Comparison, UnitModel

__all__ = ["COLOURS", "drawing"]

COLOURS = ("#1b6ca8", "#c2571a", "#555555", "#2e8b57", "#b8860b", "#8a4fa3", "#c0392b")
"""Colours of the comparisons, in their order."""

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 530, 56, 410
_LEGEND = 550
_OCTAVES, _STEPS = 20, 4
"""Octaves of latency from 1 on, and points in each."""
_LABELLED = 4
"""Every power of 2^4 has a label."""

Point = tuple[float, float, str]


def drawing(
    comparisons: Mapping[str, Comparison], units: Sequence[UnitModel], side: int, cpu: float
) -> str:
    """The drawing, an SVG. Lines end where an algorithm does not begin to pay; a latency below 1 is
    drawn at 1."""
    lines = {name: _lines(one, side, cpu) for name, one in comparisons.items()}
    rings = {name: _rings(one, units, cpu) for name, one in comparisons.items()}
    sizes = [y for parts in lines.values() for part in parts for _, y in part]
    sizes += [y for points in rings.values() for _, y, _ in points]
    top = -(-log2(max([2.0, *sizes])) // _LABELLED) * _LABELLED
    title = f"Where algorithms begin to pay, m = {side**2:,}, a word of the CPU takes {cpu:g}"
    parts = _grid(int(top))
    for (name, curve), colour in zip(lines.items(), COLOURS, strict=False):
        for part in curve:
            places = " ".join(f"{_x(x):.1f},{_y(y, top):.1f}" for x, y in part)
            parts.append(
                f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
            )
        for latency, reached, unit in rings[name]:
            said = f"{name}, {unit}, l = {latency:,.6g}: {reached:,}"
            parts.append(
                f'<circle cx="{_x(latency):.1f}" cy="{_y(reached, top):.1f}" r="4" fill="white" '
                f'stroke="{colour}" stroke-width="1.5"><title>{escape(said)}</title></circle>'
            )
    kinds = [
        (name, one.size if lines[name] or rings[name] else "never")
        for name, one in comparisons.items()
    ]
    parts += _legend(kinds)
    return drawn(title, parts, size=(_WIDTH, _HEIGHT), title_at=(_LEFT, 24))


def _lines(one: Comparison, side: int, cpu: float) -> list[list[tuple[float, float]]]:
    """Latencies and sizes, in pieces where the algorithm begins to pay."""
    from ...sim.tcu.crossovers import UnitModel, crossover

    along = []
    for step in range(_OCTAVES * _STEPS + 1):
        latency = 2 ** (step / _STEPS)
        along.append((latency, crossover(one, UnitModel("", side, latency), cpu)))
    return [
        [(x, float(y)) for x, y in part if y is not None]
        for drawn, part in groupby(along, key=lambda point: point[1] is not None)
        if drawn
    ]


def _rings(one: Comparison, units: Sequence[UnitModel], cpu: float) -> list[Point]:
    """Latencies, sizes and names of the units that have one."""
    from ...sim.tcu.crossovers import crossover

    return [
        (unit.latency, size, f"{unit.name} m = {unit.side**2:,}")
        for unit in units
        if unit.name and (size := crossover(one, unit, cpu)) is not None
    ]


def _x(latency: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(log2(max(latency, 1)) / _OCTAVES, 1)


def _y(size: float, top: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * log2(size) / top


def _grid(top: int) -> list[str]:
    found = []
    for power in range(0, _OCTAVES + 1, _LABELLED):
        x = _x(2**power)
        found.append(_line(x, _BOTTOM, x, _TOP))
        found.append(f'<text x="{x:.1f}" y="{_BOTTOM + 18}" class="m l">{2**power:,}</text>')
    for power in range(0, top + 1, _LABELLED):
        y = _y(2**power, top)
        found.append(_line(_LEFT, y, _RIGHT, y))
        found.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="e l">{2**power:,}</text>')
    middle = (_LEFT + _RIGHT) / 2
    found.append(f'<text x="{middle}" y="{_BOTTOM + 42}" class="m">l, words</text>')
    found.append(
        f'<text x="{_LEFT}" y="{_TOP - 10}" class="l">size from which the first pays</text>'
    )
    return found


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#dddddd"/>'


def _legend(kinds: Sequence[tuple[str, str]]) -> list[str]:
    found = []
    for number, ((name, size), colour) in enumerate(zip(kinds, COLOURS, strict=False)):
        y = _TOP + 14 + 36 * number
        found.append(
            f'<line x1="{_LEGEND}" y1="{y}" x2="{_LEGEND + 14}" y2="{y}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
        new, _, old = name.partition(" / ")
        for below, text in ((4, new), (18, f"/ {old}: {size}")):
            found.append(
                f'<text x="{_LEGEND + 20}" y="{y + below}" class="l">{escape(text)}</text>'
            )
    return found
