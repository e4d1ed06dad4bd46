"""RTLIL text of one module, as Amaranth writes it, by wires, cells, processes, connections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["NAME", "Cell", "Element", "ModuleText", "elements"]

NAME = re.compile(r"[\\$][^\s{}]+")
_TOKEN = re.compile(r"(\d+)'([01x]*)|([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


@dataclass
class Cell:
    """Lines of a cell by their meaning; ``line`` numbers point into the module's text."""

    kind: str
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)  # name -> value, line
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)  # name -> sigspec, line


class ModuleText:
    """A module's lines with its wires and cells."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.widths: dict[str, int] = {}
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
                what, name, value = line.split(None, 2)
                if what == "connect":
                    cell.ports[name] = (value, number)
                elif value.isdigit():
                    cell.parameters[name] = (int(value), number)
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


@dataclass
class Element:
    """Wire, cell, process or connection: its lines, the names that it drives and those that it
    reads."""

    first: int
    last: int
    drives: frozenset[str]
    reads: frozenset[str]
    is_root: bool = False
    wire: str = ""


_DRIVEN_PORTS = {"$dff": "\\Q", "$adff": "\\Q", "$memrd_v2": "\\DATA"}
_ROOTS = {"$memwr_v2", "$meminit_v2", "$print", "$check", "$tribuf"}


@lru_cache(maxsize=1 << 16)
def _parsed(body: str) -> tuple[frozenset[str], frozenset[str], bool, str]:
    """Parses an element: the names that it drives and reads, whether it is a root, and the wire
    that it describes.

    A module's text is read again after each change, and most of it is as it was before."""
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


def _element(lines: list[str], first: int, last: int) -> Element:
    body = lines[first] if first == last else "\n".join(lines[first : last + 1])
    return Element(first, last, *_parsed(body))


def elements(lines: list[str]) -> Iterator[Element]:
    first = 0
    for number, line in enumerate(lines):
        if line.startswith(("  cell ", "  process ")):
            first = number
        elif line == "  end":
            yield _element(lines, first, number)
        elif line.startswith(("  wire ", "  memory ", "connect ")):
            yield _element(lines, number, number)
