"""RTLIL text of one module, as Amaranth writes it, by wires, cells, processes, connections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["NAME", "Cell", "Element", "ModuleText", "Signals", "elements", "text_of"]

NAME = re.compile(r"[\\$][^\s{}]+")
_TOKEN = re.compile(r"(\d+)'([01x]*)|([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


@dataclass
class Cell:
    """Lines of a cell by their meaning; ``line`` numbers point into the module's text."""

    kind: str
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)  # name -> value, line
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)  # name -> sigspec, line

    def read(self, line: str, number: int) -> None:
        """Adds what a line of the cell says."""
        what, name, value = line.split(None, 2)
        if what == "connect":
            self.ports[name] = (value, number)
        elif value.isdigit():
            self.parameters[name] = (int(value), number)


class Signals:
    """The widths of a module's signals, and what is composed of them."""

    def __init__(self, widths: Mapping[str, int]) -> None:
        self.widths = dict(widths)

    def chunks(self, sigspec: str) -> Iterator[tuple[str, int, int]]:
        """The parts from the top bit down: name or constant bits, low bit (-1: constant), width."""
        for size, bits, name, high, low in _TOKEN.findall(sigspec):
            if name and not high:
                yield name, 0, self.widths[name]
            elif name:
                bottom = int(low or high)
                yield name, bottom, int(high) - bottom + 1
            else:
                yield bits, -1, int(size)

    def resized(self, sigspec: str, width: int, *, signed: bool) -> str:
        """A signal cut or extended to ``width`` bits."""
        parts = list(self.chunks(sigspec))
        excess = sum(size for _, _, size in parts) - width
        while excess > 0:
            name, low, size = parts.pop(0)
            if size > excess:
                kept = size - excess
                parts.insert(0, (name[excess:] if low < 0 else name, low, kept))
            excess -= min(size, excess)
        if excess < 0:
            name, low, size = parts[0] if parts else ("0", -1, 0)
            if low < 0:
                sign = name[0] if signed else "0"
                parts.insert(0, (sign * -excess, -1, -excess))
            elif signed:
                parts[:0] = [(name, low + size - 1, 1)] * -excess
            else:
                parts.insert(0, ("0" * -excess, -1, -excess))
        return self.spell(parts)

    def spell(self, parts: list[tuple[str, int, int]]) -> str:
        """Writes the signal composed of ``chunks``."""
        texts = [
            f"{size}'{name}" if low < 0
            else f"{name} [{low}]" if size == 1
            else f"{name} [{low + size - 1}:{low}]"
            for name, low, size in parts
        ]  # fmt: skip
        return texts[0] if len(texts) == 1 else "{ " + " ".join(texts) + " }"


class ModuleText(Signals):
    """A module's lines with its wires and cells."""

    def __init__(self, text: str) -> None:
        super().__init__({})
        self.lines = text.split("\n")
        self.wire_lines: dict[str, int] = {}
        self.cells: list[Cell] = []
        cell: Cell | None = None
        for number, line in enumerate(self.lines):
            if line.startswith("  wire width "):
                words = line.split()
                self.widths[words[-1]] = int(words[2])
                self.wire_lines[words[-1]] = number
            elif line.startswith("  cell "):
                cell = Cell(line.split()[1])
                self.cells.append(cell)
            elif cell is not None and line.startswith("    "):
                cell.read(line, number)
            elif line == "  end":
                cell = None

    def is_port(self, name: str) -> bool:
        """Returns whether a wire is one of the module's ports."""
        words = self.lines[self.wire_lines[name]].split()
        return "input" in words or "output" in words

    def set_parameter(self, cell: Cell, name: str, value: int) -> None:
        _, number = cell.parameters[name]
        self.lines[number] = f"    parameter {name} {value}"
        cell.parameters[name] = (value, number)

    def set_port(self, cell: Cell, name: str, sigspec: str) -> None:
        _, number = cell.ports[name]
        self.lines[number] = f"    connect {name} {sigspec}"
        cell.ports[name] = (sigspec, number)


_DRIVEN_PORTS = {"$dff": "\\Q", "$adff": "\\Q", "$memrd_v2": "\\DATA"}
_ROOTS = {"$memwr_v2", "$meminit_v2", "$print", "$check", "$tribuf"}


@lru_cache(maxsize=1 << 16)
def _parsed(body: str) -> tuple[frozenset[str], frozenset[str], bool, str]:
    """Parses an element: the names that it drives and reads, whether it is a root, and the wire
    that it describes. Most elements of a module are those of its variants."""
    words = body.split("\n", 1)[0].split()
    names = frozenset(NAME.findall(body))
    if words[0] == "wire":
        is_port = words[3] in ("input", "output", "inout")
        return frozenset(), frozenset({words[-1]} if is_port else ()), is_port, words[-1]
    if words[0] == "process":
        drives = frozenset(re.findall(r"assign ([\\$]\S+)", body))
        reads = frozenset(NAME.findall(re.sub(r"assign \S+( \[[\d:]+\])?", "", body)))
        return drives, reads, False, ""
    if words[0] == "connect":
        return frozenset({words[1]}), frozenset(NAME.findall(body.split(None, 2)[2])), False, ""
    if words[0] == "cell" and words[1].startswith("$") and words[1] not in _ROOTS:
        port = _DRIVEN_PORTS.get(words[1], "\\Y")
        drives = frozenset(re.findall(rf"connect {re.escape(port)} ([\\$]\S+)", body))
        return drives, names - drives, False, ""
    return frozenset(), names, words[0] in ("cell", "memory"), ""


class Element:
    """Wire, memory, cell, process or connection; or other lines of the module. It is replaced, not
    changed.

    Members
    -------
    before: lines of its attributes
    lines: its own
    blank: number of blank lines behind it
    drives, reads: names that it drives and reads
    is_root: it counts even if nothing reads what it drives
    wire: the name that it declares, if any
    is_cell: it is a cell, whose lines ``cell`` has by their meaning
    """

    __slots__ = ("_cell", "before", "blank", "drives", "is_cell", "is_root", "lines", "reads",
                 "wire")  # fmt: skip

    def __init__(self, before: list[str], lines: list[str], blank: int) -> None:
        self.before, self.lines, self.blank = before, lines, blank
        self._cell: Cell | None = None
        self.is_cell = bool(lines) and lines[0].startswith("  cell ")
        if lines and lines[0].startswith(_STARTS):
            parsed = _parsed("\n".join(lines))
        else:
            parsed = frozenset(), frozenset(), True, ""
        self.drives, self.reads, self.is_root, self.wire = parsed

    @property
    def cell(self) -> Cell:
        if self._cell is None:
            self._cell = Cell(self.lines[0].split()[1])
            for number, line in enumerate(self.lines[1:-1], 1):
                self._cell.read(line, number)
        return self._cell

    def with_lines(self, lines: list[str]) -> Element:
        """The same element with other lines."""
        return Element(self.before, lines, self.blank)


_BLOCKS = ("  cell ", "  process ")
_STARTS = (*_BLOCKS, "  wire ", "  memory ", "connect ")


def elements(text: str) -> list[Element]:
    """All lines of a module."""
    found: list[Element] = []
    before: list[str] = []
    block: list[str] | None = None
    for line in text.split("\n"):
        if block is not None:
            block.append(line)
            if line == "  end":
                found.append(Element(before, block, 0))
                before, block = [], None
        elif not line:
            if found and not before:
                found[-1].blank += 1
            else:
                before.append(line)
        elif line.startswith(_BLOCKS):
            block = [line]
        elif line.startswith("  attribute "):
            before.append(line)
        else:
            found.append(Element(before, [line], 0))
            before = []
    if before:
        found.append(Element(before, [], 0))
    return found


def text_of(parts: Iterable[Element]) -> str:
    """The module's text."""
    lines: list[str] = []
    for part in parts:
        lines += part.before
        lines += part.lines
        if part.blank:
            lines += [""] * part.blank
    return "\n".join(lines)
