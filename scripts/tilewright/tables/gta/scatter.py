"""Schedules as a drawing: a dot each, cycles and accesses over the least of the space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log2
from typing import TYPE_CHECKING

from ..drawing import drawn

if TYPE_CHECKING:
    from ...sim.gta.schedule.explain import Ranked

__all__ = ["COLOURS", "scatter"]

COLOURS = ("#1b6ca8", "#c2571a", "#2e8b57")
"""Colours of the formats, in their order."""

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 570, 56, 410
_LEGEND = 592


_TICKS = [part * 2**power for power in range(20) for part in (1, 1.25, 1.5, 1.75)]
_MOST_TICKS = 9


class _Axis:
    """Logarithmic axis from 1 to the first tick that no value exceeds, with a small margin."""

    def __init__(self, values: Iterable[float], low: float, high: float) -> None:
        largest = max(values)
        ticks = [tick for tick in _TICKS if tick < largest] + [
            min((tick for tick in _TICKS if 1 < tick >= largest), default=largest)
        ]
        powers = [tick for tick in ticks if log2(tick).is_integer()]
        self._last = ticks[-1]
        self.ticks = ticks if len(ticks) <= _MOST_TICKS else powers
        self._low, self._high = low, high

    def at(self, value: float) -> float:
        room = 0.04
        part = room + (1 - 2 * room) * log2(value) / log2(self._last)
        return self._low + (self._high - self._low) * part


def scatter(title: str, found: Mapping[str, Sequence[Ranked]]) -> str:
    """The drawing, an SVG, of the schedules of each format, the chosen one first, which has a ring.
    Vector operations are hollow."""
    every = [one for ranked in found.values() for one in ranked]
    x = _Axis((one.cycles for one in every), _LEFT, _RIGHT)
    y = _Axis((one.accesses for one in every), _BOTTOM, _TOP)
    parts = _grid(x, y)
    for (name, ranked), colour in zip(found.items(), COLOURS, strict=False):
        parts += [_dot(x, y, name, one, colour) for one in reversed(ranked)]
        chosen = ranked[0]
        parts.append(
            f'<circle cx="{x.at(chosen.cycles):.1f}" cy="{y.at(chosen.accesses):.1f}" r="7.5" '
            f'fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
    parts += _legend(list(found))
    return drawn(title, parts, size=(_WIDTH, _HEIGHT), title_at=(_LEFT, 24))


def _grid(x: _Axis, y: _Axis) -> list[str]:
    found = []
    for tick in x.ticks:
        place = x.at(tick)
        found.append(_line(place, _BOTTOM, place, _TOP))
        found.append(f'<text x="{place:.1f}" y="{_BOTTOM + 18}" class="m l">{tick:g}</text>')
    for tick in y.ticks:
        place = y.at(tick)
        found.append(_line(_LEFT, place, _RIGHT, place))
        found.append(f'<text x="{_LEFT - 8}" y="{place + 4:.1f}" class="e l">{tick:g}</text>')
    middle = (_LEFT + _RIGHT) / 2
    found.append(f'<text x="{middle}" y="{_BOTTOM + 42}" class="m">cycles over the least</text>')
    found.append(f'<text x="{_LEFT}" y="{_TOP - 10}" class="l">accesses over the least</text>')
    return found


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#dddddd"/>'


def _dot(x: _Axis, y: _Axis, name: str, one: Ranked, colour: str) -> str:
    schedule = one.evaluated.schedule
    fill = "white" if schedule.dataflow == "simd" else colour
    said = f"{name}, {schedule.words}: {one.cycles:.2f}, {one.accesses:.2f}"
    return (
        f'<circle cx="{x.at(one.cycles):.1f}" cy="{y.at(one.accesses):.1f}" r="3.5" '
        f'fill="{fill}" fill-opacity="0.7" stroke="{colour}"><title>{escape(said)}</title></circle>'
    )


def _legend(names: list[str]) -> list[str]:
    rows = [(colour, colour, 4.0, name) for name, colour in zip(names, COLOURS, strict=False)]
    rows += [("#555555", "white", 4.0, "vector operations"), ("#555555", "none", 7.5, "chosen")]
    found = []
    for number, (stroke, fill, radius, words) in enumerate(rows):
        y = _TOP + 14 + 22 * number
        found.append(
            f'<circle cx="{_LEGEND}" cy="{y}" r="{radius:g}" fill="{fill}" stroke="{stroke}"/>'
        )
        found.append(f'<text x="{_LEGEND + 14}" y="{y + 4}" class="l">{escape(words)}</text>')
    return found
