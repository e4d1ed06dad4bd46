"""A program as a drawing: functions from the host's memory on the left to it on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import prod
from typing import TYPE_CHECKING

from ..common.limits import counted

if TYPE_CHECKING:
    from ...hw.spec.t2s.loops import Loop
    from ...hw.spec.t2s.program import Channel, Function, Program

__all__ = ["STYLE", "drawing"]

STYLE = (
    "@media (prefers-color-scheme: dark){svg{filter:invert(.9) hue-rotate(180deg)}}"
    "text{font-size:12px;fill:#444}.t{font-size:13px;font-weight:bold;fill:#111}"
    ".m{text-anchor:middle}.e{text-anchor:end}.k{fill:#8a5d12}.l{fill:#3b5b8c}"
    ".b{fill:#eef3fa;stroke:#3b5b8c}.d{fill:#fdf3e1;stroke:#b07d2b}"
    ".g{fill:#e9f6ec;stroke:#3f7a4d}.o{fill:#f0f0f0;stroke:#777}.w{fill:#fff;stroke:#777}"
    ".bb{fill:#b5cbe8;stroke:#3b5b8c}.dd{fill:#f3c98b;stroke:#b07d2b}.r{fill:#3b5b8c}"
    ".f{fill:none;stroke:#999;stroke-dasharray:5 4}"
    ".a,.p,.c,.q{fill:none;stroke:#555;stroke-width:1.4;marker-end:url(#m)}"
    ".p{stroke-dasharray:5 4}.q{stroke-width:2.6;marker-end:none}"
    ".c{stroke:#b07d2b;marker-end:url(#k)}"
)
"""Style sheet of every drawing of the pages: boxes b, d, g, o, w, register stages r, frames f,
arrows a, p (dashed), c (control) and q (several queues)."""

_COLUMN, _WIDTH = 226, 168
_LEFT, _TOP, _BETWEEN = 30, 50, 34
_CELL, _MOST = 9, 12
"""Side of a copy of a function in pixels, and the copies that are drawn along a loop."""
_CLASSES = {"host": "o", "device": "b", "element": "d"}
_NOTE = 15
"""Pixels between lines of notes."""
_MARKER = (
    '<defs><marker id="m" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
    '<path d="M0,0 L7,3 L0,6 z" fill="#555"/></marker></defs>'
)
_LEGEND = (
    ("o", "function of the host", 150), ("b", "function that moves data", 180),
    ("d", "elements", 92), ("w", "one copy", 92), ("a", "one queue", 98),
    ("q", "n x: n queues", 120), ("p", "through memory", 120),
)  # fmt: skip
"""Class, meaning, and pixels of the meaning."""


def drawing(
    title: str,
    program: Program,
    chains: Mapping[str, Sequence[str]],
    words: Mapping[str, int],
    depths: Mapping[str, int] | None = None,
) -> str:
    """The drawing, an SVG.

    Parameters
    ----------
    chains: functions of each operand and of the result, nearest to the elements first
    words: of buffers
    depths: of channels, written beside those deeper than 1
    """
    operands = [names for tensor, names in chains.items() if tensor != program.result]
    longest = max(len(names) for names in operands)
    notes = {one.name: _notes(program, one, words, depths or {}) for one in program.functions}
    high = {one.name: _height(one, notes[one.name]) for one in program.functions}
    row = max(high[name] for names in operands for name in names) + _BETWEEN
    middle = _TOP + row * (len(operands) - 1) / 2
    columns = {name: longest - 1 - n for names in operands for n, name in enumerate(names)}
    columns |= {program.name: longest}
    columns |= {name: longest + 1 + n for n, name in enumerate(chains[program.result])}
    tops = {name: _TOP + row * n for n, names in enumerate(operands) for name in names}
    places = {
        name: (float(_LEFT + _COLUMN * column), float(tops.get(name, middle)))
        for name, column in columns.items()
    }
    width = 2 * _LEFT + _COLUMN * (longest + len(chains[program.result])) + _WIDTH
    below = max(place[1] + high[name] for name, place in places.items()) + _LEFT
    parts: list[str] = []
    parts += [
        line
        for channel in program.channels
        if channel.source != channel.sink
        for line in _arrow(channel, places, depths or {})
    ]
    for tensor, names in chains.items():
        if program.function(names[-1]).host:
            ends = (names[-1], names[-2] if len(names) > 1 else program.name)
            parts += _memory(ends if tensor != program.result else ends[::-1], places)
    for function in program.functions:
        kind = "host" if function.host else "device"
        kind = "element" if function.name == program.name else kind
        parts += _box(function, places[function.name], _CLASSES[kind], notes[function.name])
    legend, below = _legend(parts, width, below)
    height = below + 20
    start = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        _MARKER,
        f'<rect width="{width}" height="{height:g}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" class="t">{escape(title)}</text>',
    ]
    return "\n".join([*start, *parts, *legend, "</svg>"]) + "\n"


def _legend(parts: Sequence[str], width: float, y: float) -> tuple[list[str], float]:
    """A row, or several, that names the boxes and arrows of a drawing; and where it ends."""
    drawn, x = ['<g class="legend">'], _LEFT
    for kind, meaning, pixels in _LEGEND:
        if not any(f'class="{kind}"' in part for part in parts):
            continue
        if x + 34 + pixels > width:
            x, y = _LEFT, y + 22
        if kind in "apq":
            drawn.append(f'<path class="{kind}" d="M{x} {y + 7:g}h26"/>')
        else:
            drawn.append(f'<rect class="{kind}" x="{x}" y="{y:g}" width="26" height="14" rx="3"/>')
        drawn.append(f'<text x="{x + 34}" y="{y + 11:g}">{meaning}</text>')
        x += 34 + pixels
    return [*drawn, "</g>"], y + 14


def _height(function: Function, notes: Sequence[str]) -> int:
    """Height of the box of a function."""
    rows = min(_shown(function.instances)[0], _MOST + 1) if function.instances else 0
    return 30 + _CELL * rows + _NOTE * len(notes)


def _box(
    function: Function, place: tuple[float, float], kind: str, notes: Sequence[str]
) -> list[str]:
    x, y = place
    high = _height(function, notes)
    copies = " x ".join(str(one.extent) for one in function.instances)
    name = f"{function.name}{f' [{copies}]' if copies else ''}"
    below = y + high - _NOTE * len(notes) + 6
    return [
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{high}" rx="5"/>',
        f'<text class="t m" x="{x + _WIDTH / 2:g}" y="{y + 16:g}">{escape(name)}</text>',
        *_grid(function.instances, x, y + 22),
        *(
            f'<text x="{x + 8:g}" y="{below + _NOTE * n:g}">{escape(one)}</text>'
            for n, one in enumerate(notes)
        ),
    ]


def _notes(
    program: Program, function: Function, words: Mapping[str, int], depths: Mapping[str, int]
) -> list[str]:
    """Buffers, and channels between copies."""
    notes = []
    for buffer in function.buffers:
        size = counted(words[buffer.name], "word")
        kind = "sums: " if buffer.level is None else "buffer: "
        notes.append(f"{kind}{'2 x ' if buffer.double else ''}{size}")
    for channel in program.channels:
        if channel.source == channel.sink == function.name:
            along = channel.name.removeprefix(f"{function.name}_").replace("_", " ")
            deep = depths.get(channel.name, 1)
            notes.append(f"{along}{f', depth {deep}' if deep > 1 else ''}")
    return notes


def _shown(instances: tuple[Loop, ...]) -> tuple[int, int]:
    """Rows and columns of copies."""
    extents = [one.extent or 1 for one in instances]
    if len(extents) == 1:
        return 1, extents[0]
    return extents[0], prod(extents[1:])


def _grid(instances: tuple[Loop, ...], x: float, y: float) -> list[str]:
    """A square a copy; of many the first, and dots."""
    if not instances:
        return []
    rows, columns = _shown(instances)
    found = [
        f'<rect class="w" x="{x + 8 + _CELL * column:g}" y="{y + _CELL * row:g}" '
        f'width="{_CELL - 2}" height="{_CELL - 2}"/>'
        for row in range(min(rows, _MOST))
        for column in range(min(columns, _MOST))
    ]
    if columns > _MOST:
        found.append(f'<text x="{x + 9 + _CELL * _MOST:g}" y="{y + 7:g}">..</text>')
    if rows > _MOST:
        found.append(f'<text x="{x + 8:g}" y="{y + _CELL * _MOST + 6:g}">..</text>')
    return found


def _arrow(
    channel: Channel, places: Mapping[str, tuple[float, float]], depths: Mapping[str, int]
) -> list[str]:
    queues = prod(one.extent or 1 for one in channel.dimensions)
    deep = depths.get(channel.name, 1)
    words = [f"{queues} x"] if queues > 1 else []
    words += [f"depth {deep}"] if deep > 1 else []
    return _line(places[channel.source], places[channel.sink], " ".join(words), 1 + (queues > 1))


def _memory(ends: tuple[str, ...], places: Mapping[str, tuple[float, float]]) -> list[str]:
    return _line(places[ends[0]], places[ends[1]], "memory", 1, dashed=True)


def _line(
    source: tuple[float, float],
    sink: tuple[float, float],
    words: str,
    thickness: int,
    dashed: bool = False,
) -> list[str]:
    start, end = (source[0] + _WIDTH, source[1] + 12), (sink[0], sink[1] + 12)
    # Beside a line that rises or falls, the other side of its start is free.
    beside = (start[0] + 6, start[1] + (16 if end[1] < start[1] else -5))
    level = start[1] == end[1]
    at = ((start[0] + end[0]) / 2, start[1] - 5) if level else beside
    path = f"M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}"
    drawn = []
    if thickness > 1:  # with the thin arrow on top
        drawn.append(f'<path class="q" d="M{start[0]:g} {start[1]:g}L{end[0] - 8:g} {end[1]:g}"/>')
    drawn.append(f'<path class="{"p" if dashed else "a"}" d="{path}"/>')
    if words:
        anchor = ' class="m"' if level else ""
        drawn.append(f'<text{anchor} x="{at[0]:g}" y="{at[1]:g}">{words}</text>')
    return drawn
