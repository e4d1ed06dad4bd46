"""RTLIL text of one module, as Amaranth writes it, made fit for readable Verilog.

* Register initial values go: a register that is reset has no use for one, and one that is
  not reset must not rely on it (which is checked).
* Result bits that nothing reads are not computed, and operands are extended to the width at
  which they are computed, so that no linter has to guess what was meant.
* Signals and operations that nothing reads go, and clocks and resets that nothing uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["MODULE", "tidy"]

MODULE = "@"  # what a module is called until it has its name

_MODULAR = {"$add", "$sub", "$mul", "$neg", "$shl", "$and", "$or", "$xor", "$not"}
_COMPARED = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_NAME = re.compile(r"[\\$][^\s{}]+")
_REFERENCE = re.compile(r"([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")
_TOKEN = re.compile(r"(\d+)'([01x]*)|([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


@dataclass
class _Cell:
    """The lines of a cell by what they say; ``line`` numbers point into the module's text."""

    kind: str
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)  # name -> value, line
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)  # name -> sigspec, line


class _Text:
    """A module's lines with its wires and cells."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.widths: dict[str, int] = {}
        self.wire_lines: dict[str, int] = {}
        self.cells: list[_Cell] = []
        cell: _Cell | None = None
        for number, line in enumerate(self.lines):
            words = line.split()
            if line.startswith("  wire width "):
                self.widths[words[-1]] = int(words[2])
                self.wire_lines[words[-1]] = number
            elif line.startswith("  cell "):
                cell = _Cell(words[1])
                self.cells.append(cell)
            elif cell is not None and words[:1] == ["parameter"]:
                if words[-1].isdigit():
                    cell.parameters[words[1]] = (int(words[-1]), number)
            elif cell is not None and words[:1] == ["connect"]:
                cell.ports[words[1]] = (line.split(None, 2)[2], number)
            elif words[:1] == ["end"]:
                cell = None

    def set_parameter(self, cell: _Cell, name: str, value: int) -> None:
        _, number = cell.parameters[name]
        self.lines[number] = f"    parameter {name} {value}"
        cell.parameters[name] = (value, number)

    def set_port(self, cell: _Cell, name: str, sigspec: str) -> None:
        _, number = cell.ports[name]
        self.lines[number] = f"    connect {name} {sigspec}"
        cell.ports[name] = (sigspec, number)

    def chunks(self, sigspec: str) -> Iterator[tuple[str, int, int]]:
        """The parts of a signal from the top bit down: name or bits, low bit (-1 for bits), width."""
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
        texts = [
            f"{size}'{name}" if low < 0
            else f"{name} [{low}]" if size == 1
            else f"{name} [{low + size - 1}:{low}]"
            for name, low, size in parts
        ]  # fmt: skip
        return texts[0] if len(texts) == 1 else "{ " + " ".join(texts) + " }"


def _used_widths(text: _Text, drivers: dict[str, _Cell]) -> dict[str, int]:
    """How many low bits of each of the driven private wires are read anywhere."""
    used = dict.fromkeys(drivers, 0)
    own = {cell.ports["\\Y"][1] for cell in drivers.values()}
    for number, line in enumerate(text.lines):
        if "$" not in line or number in own or line.startswith("  wire "):
            continue
        for name, high, _low in _REFERENCE.findall(line):
            if name in used:
                used[name] = max(used[name], int(high) + 1 if high else text.widths[name])
    return used


def _narrow(text: _Text) -> None:
    """Drop upper result bits that nothing reads, and upper operand bits that only made those."""
    drivers = {
        cell.ports["\\Y"][0]: cell
        for cell in text.cells
        if cell.kind in _MODULAR and cell.ports["\\Y"][0].startswith("$")
    }
    changed = True
    while changed:
        changed = False
        for name, used in _used_widths(text, drivers).items():
            if not 0 < used < text.widths[name]:
                continue
            changed = True
            cell = drivers[name]
            text.widths[name] = used
            text.lines[text.wire_lines[name]] = f"  wire width {used} {name}"
            text.set_parameter(cell, "\\Y_WIDTH", used)
            for port in ("\\A", "\\B") if cell.kind != "$shl" else ("\\A",):
                if port in cell.ports and cell.parameters[f"{port}_WIDTH"][0] > used:
                    signed = bool(cell.parameters[f"{port}_SIGNED"][0])
                    text.set_port(
                        cell, port, text.resized(cell.ports[port][0], used, signed=signed)
                    )
                    text.set_parameter(cell, f"{port}_WIDTH", used)


def _extend(text: _Text) -> None:
    """Give both operands of an operation the width at which it is computed."""
    for cell in text.cells:
        if cell.kind == "$mul" or cell.kind not in _MODULAR | _COMPARED:
            continue
        ports = [p for p in ("\\A", "\\B") if p in cell.ports]
        if cell.kind == "$shl":
            ports = ["\\A"]
        widths = [cell.parameters[f"{port}_WIDTH"][0] for port in ports]
        result = cell.parameters["\\Y_WIDTH"][0]
        target = max(widths) if cell.kind in _COMPARED else max(*widths, result)
        for port, width in zip(ports, widths, strict=True):
            if width < target:
                signed = bool(cell.parameters[f"{port}_SIGNED"][0])
                text.set_port(cell, port, text.resized(cell.ports[port][0], target, signed=signed))
                text.set_parameter(cell, f"{port}_WIDTH", target)


@dataclass
class _Element:
    """A wire, cell, process or connection: its lines, what it drives and what it reads."""

    first: int
    last: int
    drives: set[str]
    reads: set[str]
    is_root: bool = False
    wire: str = ""


_DRIVEN_PORTS = {"$dff": "\\Q", "$adff": "\\Q", "$memrd_v2": "\\DATA"}
_ROOTS = {"$memwr_v2", "$meminit_v2", "$print", "$check", "$tribuf"}


def _element(lines: list[str], first: int, last: int) -> _Element:
    words = lines[first].split()
    body = "\n".join(lines[first : last + 1])
    names = set(_NAME.findall(body))
    if words[0] == "wire":
        port = not lines[first].startswith(f"  wire width {words[2]} {words[-1]}")
        is_port = port and words[3] in ("input", "output", "inout")
        return _Element(first, last, set(), {words[-1]} if is_port else set(), is_port, words[-1])
    if words[0] == "process":
        drives = set(re.findall(r"assign ([\\$]\S+)", body))
        reads = set(_NAME.findall(re.sub(r"assign \S+( \[[\d:]+\])?", "", body)))
        return _Element(first, last, drives, reads)
    if words[0] == "connect":
        return _Element(first, last, {words[1]}, set(_NAME.findall(body.split(None, 2)[2])))
    if words[0] == "cell" and words[1].startswith("$") and words[1] not in _ROOTS:
        port = _DRIVEN_PORTS.get(words[1], "\\Y")
        drives = set(re.findall(rf"connect {re.escape(port)} ([\\$]\S+)", body))
        return _Element(first, last, drives, names - drives)
    return _Element(first, last, set(), names, words[0] in ("cell", "memory"))


def _elements(lines: list[str]) -> Iterator[_Element]:
    first = 0
    for number, line in enumerate(lines):
        if line.startswith(("  cell ", "  process ")):
            first = number
        elif line == "  end":
            yield _element(lines, first, number)
        elif line.startswith(("  wire ", "  memory ", "connect ")):
            yield _element(lines, number, number)


def _drop_dead(text: str) -> str:
    """Remove signals that nothing reads, with the operations that only made those."""
    lines = text.split("\n")
    elements = list(_elements(lines))
    drivers: dict[str, list[_Element]] = {}
    for element in elements:
        for name in element.drives:
            drivers.setdefault(name, []).append(element)
    live = {id(element) for element in elements if element.is_root}
    waiting = [element for element in elements if element.is_root]
    used: set[str] = set()
    while waiting:
        element = waiting.pop()
        used |= element.reads | element.drives
        for name in element.reads:
            for driver in drivers.get(name, ()):
                if id(driver) not in live:
                    live.add(id(driver))
                    waiting.append(driver)
    for element in elements:
        if id(element) not in live and element.wire not in used:
            first = element.first
            while lines[first - 1].startswith("  attribute "):
                first -= 1
            for number in range(first, element.last + 1):
                lines[number] = "#"
    return re.sub(r"^#\n+", "", "\n".join(lines), flags=re.M)


def _drop_initial_values(text: str) -> str:
    """Remove the initial values of flip-flops."""
    unreset: list[str] = []
    processes = re.findall(r"^  process .*?^  end$", text, re.M | re.S)
    reset = {
        name
        for process in processes
        if "switch \\rst [0]" in process
        for name in re.findall(r"assign ([\\$]\S+)", process)
    }
    for value, name in re.findall(
        r"^  attribute \\init \d+'([01]+)\n(?:  attribute .*\n)*  wire width \d+ .*?(\S+)$",
        text,
        re.M,
    ):
        if "1" in value:
            data = re.search(
                rf"connect \\D ([\\$][^\s\[]+).*\n(?:.*\n){{0,2}}?    connect \\Q {re.escape(name)}$",
                text,
                re.M,
            )
            if data is None or data[1] not in reset:
                unreset.append(name.lstrip("\\"))
    if unreset:
        raise ValueError(
            f"a register without reset must not have an initial value: {', '.join(unreset)}"
        )
    return re.sub(r"^  attribute \\init .*\n", "", text, flags=re.M)


def _drop_unused_clocks(text: str) -> str:
    for name in ("clk", "rst"):
        if len(re.findall(rf"\\{name}(?![\w$.])", text)) == 1:
            text = re.sub(rf"^  wire width 1 input \d+\s+\\{name}\n\n", "", text, flags=re.M)
    return text


def tidy(rtlil: str, *, keep_clock: bool) -> str:
    """The module's text under the rules above; ``keep_clock`` leaves clk and rst as they are."""
    text = _Text(_drop_dead(_drop_initial_values(rtlil)))
    _narrow(text)
    _extend(text)
    result = "\n".join(text.lines)
    return result if keep_clock else _drop_unused_clocks(result)
