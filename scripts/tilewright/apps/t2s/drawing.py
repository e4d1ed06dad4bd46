"""A program as a drawing: functions from the host's memory on the left to it on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import prod
from typing import TYPE_CHECKING

from ..common.words import counted

if TYPE_CHECKING:
    from ...hw.spec.t2s.loops import Loop
    from ...hw.spec.t2s.program import Channel, Function, Program

__all__ = ["drawing"]

_COLUMN, _WIDTH, _ROW = 190, 130, 150
_LEFT, _TOP = 30, 70
_CELL, _MOST = 11, 6
"""Of the copies of a function: their side in pixels, and how many are drawn along a loop."""
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
    middle = (len(operands) - 1) / 2
    places = {program.name: (float(longest), middle)}
    for row, names in enumerate(operands):
        places |= {name: (longest - 1 - n, float(row)) for n, name in enumerate(names)}
    for n, name in enumerate(chains[program.result]):
        places[name] = (longest + 1 + n, middle)
    width = 2 * _LEFT + _COLUMN * (longest + len(chains[program.result])) + _WIDTH
    height = _TOP + _ROW * max(len(operands), 1.6)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        "<style>@media (prefers-color-scheme: dark){svg{filter:invert(.9) hue-rotate(180deg)}}"
        ".m{text-anchor:middle}.l{fill:#333}"
        ".k{fill:#333;paint-order:stroke;stroke:white;stroke-width:4px}.h{font-weight:bold}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
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
        parts += _box(program, function, places[function.name], words, depths or {})
    return "\n".join([*parts, "</svg>"]) + "\n"


def _corner(place: tuple[float, float]) -> tuple[float, float]:
    return _LEFT + place[0] * _COLUMN, _TOP + place[1] * _ROW


def _box(
    program: Program,
    function: Function,
    place: tuple[float, float],
    words: Mapping[str, int],
    depths: Mapping[str, int],
) -> list[str]:
    x, y = _corner(place)
    kind = "host" if function.host else "element" if function.name == program.name else "device"
    notes = _notes(program, function, words, depths)
    grid = _grid(function.instances, x, y + 22)
    high = 26 + (_CELL * min(_shown(function.instances)[0], _MOST) if grid else 0) + 13 * len(notes)
    top = f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{high + 6}" rx="4" '
    copies = " x ".join(str(one.extent) for one in function.instances)
    name = f"{function.name}{f' [{copies}]' if copies else ''}"
    found = [
        f'{top}fill="{_FILLS[kind]}" stroke="#555"/>',
        f'<text x="{x + _WIDTH / 2:g}" y="{y + 15:g}" class="m">{escape(name)}</text>',
        *grid,
    ]
    below = y + high - 13 * len(notes) + 10
    found += [
        f'<text x="{x + 6:g}" y="{below + 13 * n:g}" class="l" font-size="9.5">{escape(one)}</text>'
        for n, one in enumerate(notes)
    ]
    return found


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
    found = []
    for row in range(min(rows, _MOST)):
        for column in range(min(columns, _MOST)):
            left, top = x + 8 + _CELL * column, y + _CELL * row
            found.append(
                f'<rect x="{left:g}" y="{top:g}" width="{_CELL - 2}" height="{_CELL - 2}" '
                'fill="white" stroke="#555"/>'
            )
        if columns > _MOST:
            found.append(
                f'<text x="{x + 10 + _CELL * _MOST:g}" y="{y + _CELL * row + 8:g}">..</text>'
            )
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
    x, y = _corner(source)
    to_x, to_y = _corner(sink)
    start, end = (x + _WIDTH, y + 12), (to_x, to_y + 12)
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 5)
    tip = " ".join(f"{end[0] + dx:g},{end[1] + dy:g}" for dx, dy in ((0, 0), (-7, -4), (-7, 4)))
    return [
        f'<line x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0] - 6:g}" y2="{end[1]:g}" '
        f'stroke="#555" stroke-width="{thickness}"{dashes}/>',
        f'<polygon points="{tip}" fill="#555"/>',
        f'<text x="{middle[0]:g}" y="{middle[1]:g}" class="m k" font-size="9.5">{words}</text>',
    ]
