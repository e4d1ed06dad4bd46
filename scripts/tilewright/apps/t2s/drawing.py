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

__all__ = ["drawing"]

_COLUMN, _WIDTH = 200, 130
_LEFT, _TOP, _BETWEEN = 30, 50, 34
_CELL, _MOST = 9, 12
"""Side of a copy of a function in pixels, and the copies that are drawn along a loop."""
_FILLS = {"host": "#eeeeee", "device": "#dbe9f4", "element": "#f7dfcf"}


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
    height = max(place[1] + high[name] for name, place in places.items()) + _LEFT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        "<style>@media (prefers-color-scheme: dark){svg{filter:invert(.9) hue-rotate(180deg)}}"
        ".m{text-anchor:middle}.l{fill:#333}.h{font-weight:bold}</style>",
        f'<rect width="{width}" height="{height:g}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" class="h">{escape(title)}</text>',
    ]
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
        parts += _box(function, places[function.name], _FILLS[kind], notes[function.name])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _height(function: Function, notes: Sequence[str]) -> int:
    """Height of the box of a function."""
    rows = min(_shown(function.instances)[0], _MOST + 1) if function.instances else 0
    return 28 + _CELL * rows + 13 * len(notes)


def _box(
    function: Function, place: tuple[float, float], fill: str, notes: Sequence[str]
) -> list[str]:
    x, y = place
    high = _height(function, notes)
    copies = " x ".join(str(one.extent) for one in function.instances)
    name = f"{function.name}{f' [{copies}]' if copies else ''}"
    below = y + high - 13 * len(notes) + 6
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{high}" rx="4" '
        f'fill="{fill}" stroke="#555"/>',
        f'<text x="{x + _WIDTH / 2:g}" y="{y + 15:g}" class="m">{escape(name)}</text>',
        *_grid(function.instances, x, y + 22),
        *(
            f'<text x="{x + 8:g}" y="{below + 13 * n:g}" class="l" font-size="9.5">'
            f"{escape(one)}</text>"
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
        f'<rect x="{x + 8 + _CELL * column:g}" y="{y + _CELL * row:g}" '
        f'width="{_CELL - 2}" height="{_CELL - 2}" fill="white" stroke="#555"/>'
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
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    tip = " ".join(f"{end[0] + dx:g},{end[1] + dy:g}" for dx, dy in ((0, 0), (-7, -4), (-7, 4)))
    # Beside a line that rises or falls there is room on the other side of where it starts.
    beside = (start[0] + 6, start[1] + (14 if end[1] < start[1] else -5))
    at = ((start[0] + end[0]) / 2, start[1] - 5) if start[1] == end[1] else beside
    anchor = "m l" if start[1] == end[1] else "l"
    drawn = [
        f'<line x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0] - 6:g}" y2="{end[1]:g}" '
        f'stroke="#555" stroke-width="{thickness}"{dashes}/>',
        f'<polygon points="{tip}" fill="#555"/>',
    ]
    if words:
        drawn.append(
            f'<text x="{at[0]:g}" y="{at[1]:g}" class="{anchor}" font-size="9.5">{words}</text>'
        )
    return drawn
