"""Tidies a module's RTLIL, so that the Verilog is readable.

* Register initial values go: a register that is reset has no use for one, and one that is
  not reset must not rely on it (which is checked).
* Memories have no contents at power-up unless they are given some, and their read registers
  have names (``memories``).
* Registers have names of their own, not those of what they drive.
* Signals and operations that nothing reads go, and clocks and resets that nothing uses.
* Parts from a variable place on are low bits of a shift as wide as the whole.
* What joins the same parts as a signal reads that signal.
* Operations with constants that decide them are not computed, and equal ones once
  (``fold``).
* Result bits that nothing reads are not computed, and operands are extended to the width at
  which they are computed, so that no linter has to guess what was meant.
* An instance's output that is but a part of a wider signal drives that part itself.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from .fold import adds_nothing, without_trivial_operations
from .memories import with_plain_memories
from .text import NAME, Cell, Element, ModuleText, Signals, elements, text_of

__all__ = ["MODULE", "tidy"]

MODULE = "@"
"""Name of a module before it has its own."""

_MODULAR = {"$add", "$sub", "$mul", "$neg", "$shl", "$and", "$or", "$xor", "$not"}
_COMPARED = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_REFERENCE = re.compile(r"([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


@lru_cache(maxsize=1 << 16)
def _private_references(line: str) -> tuple[tuple[str, int], ...]:
    """Returns the private wires that a line refers to, and how many of their low bits, 0 for all.

    Cached: a module is read several times, and its variants share most lines.
    """
    found = _REFERENCE.findall(line)
    return tuple((name, int(high) + 1 if high else 0) for name, high, _ in found if name[0] == "$")


def _used_widths(text: ModuleText, drivers: dict[str, Cell]) -> dict[str, int]:
    """Returns the number of low bits that are read of each of the driven private wires."""
    used = dict.fromkeys(drivers, 0)
    own = {cell.ports["\\Y"][1] for cell in drivers.values()}
    for number, line in enumerate(text.lines):
        if "$" not in line or number in own or line.startswith("  wire "):
            continue
        for name, bits in _private_references(line):
            if name in used:
                used[name] = max(used[name], bits or text.widths[name])
    return used


def _narrow_cell(text: ModuleText, cell: Cell, used: int) -> None:
    """Sets the width of a cell's result, and of the operands that need no more bits."""
    if cell.kind == "$mux":
        for port in ("\\A", "\\B"):
            text.set_port(cell, port, text.resized(cell.ports[port][0], used, signed=False))
        text.set_parameter(cell, "\\WIDTH", used)
        return
    text.set_parameter(cell, "\\Y_WIDTH", used)
    for port in ("\\A", "\\B") if cell.kind != "$shl" else ("\\A",):
        if port in cell.ports and cell.parameters[f"{port}_WIDTH"][0] > used:
            signed = bool(cell.parameters[f"{port}_SIGNED"][0])
            text.set_port(cell, port, text.resized(cell.ports[port][0], used, signed=signed))
            text.set_parameter(cell, f"{port}_WIDTH", used)


def _narrow(text: ModuleText) -> None:
    """Drop upper result bits that nothing reads, and upper operand bits that only made those."""
    drivers = {
        cell.ports["\\Y"][0]: cell
        for cell in text.cells
        if cell.kind in _MODULAR | {"$mux"} and cell.ports["\\Y"][0].startswith("$")
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
            _narrow_cell(text, cell, used)


def _extend(text: ModuleText) -> None:
    """Extends both operands of an operation to the width at which it is computed."""
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


def _drop_dead(parts: list[Element]) -> list[Element]:
    """Removes signals that nothing reads, with the operations that only made those."""
    drivers: dict[str, list[Element]] = {}
    for part in parts:
        for name in part.drives:
            drivers.setdefault(name, []).append(part)
    waiting = [part for part in parts if part.is_root]
    live = set(map(id, waiting))
    used: set[str] = set()
    while waiting:
        part = waiting.pop()
        used |= part.reads
        used |= part.drives
        for name in part.reads:
            for driver in drivers.get(name, ()):
                if id(driver) not in live:
                    live.add(id(driver))
                    waiting.append(driver)
    return [part for part in parts if id(part) in live or part.wire in used]


def _merge_equal(parts: list[Element]) -> list[Element]:
    """Computes equal operations once, for results without a name of their own."""
    replaced: dict[str, str] = {}
    seen: dict[str, str] = {}
    kept: list[Element] = []
    for part in parts:
        if replaced and not (
            replaced.keys().isdisjoint(part.reads) and replaced.keys().isdisjoint(part.drives)
        ):
            lines = [NAME.sub(lambda m: replaced.get(m[0], m[0]), line) for line in part.lines]
            part = part.with_lines(lines)
        if part.is_cell and part.lines[0].startswith("  cell $"):
            result = next((w for w in part.drives if w.startswith("$")), None)
            kind = part.lines[0].split(None, 2)[1]
            if result is not None and not kind.startswith(("$dff", "$mem")):
                own = f"\\Y {result}"
                key = "\n".join([kind, *(x for x in part.lines[1:] if not x.endswith(own))])
                first = seen.setdefault(key, result)
                if first != result:
                    replaced[result] = first
                    continue
        kept.append(part)
    return _drop_dead(kept) if replaced else kept


def _attach_outputs(text: ModuleText) -> None:
    """Lets instances drive their part of a wider signal, if nothing else drives that part."""
    pins: dict[str, int] = {}
    for cell in text.cells:
        if not cell.kind.startswith("$"):
            for sigspec, number in cell.ports.values():
                if sigspec in text.widths and not text.is_port(sigspec):
                    pins[sigspec] = number
    if not pins:
        return
    counts = Counter(name for name in NAME.findall("\n".join(text.lines)) if name in pins)
    for number, line in enumerate(text.lines):
        if not line.startswith("connect ") or "{" not in line:
            continue
        _, target, sigspec = line.split(None, 2)
        if not sigspec.startswith("{"):
            continue
        parts, rest = list(text.chunks(sigspec)), []
        top = sum(size for _, _, size in parts)
        for name, low, size in parts:
            slot = f"{target} [{top - 1}:{top - size}]" if size > 1 else f"{target} [{top - 1}]"
            top -= size
            whole = name in pins and low == 0 and size == text.widths[name]
            if whole and counts[name] == 3:  # its declaration, the pin, and here
                text.lines[pins[name]] = text.lines[pins[name]].replace(f" {name}", f" {slot}")
                text.lines[text.wire_lines[name]] = "#"
            else:
                rest.append(f"connect {slot} {text.spell([(name, low, size)])}")
        if len(rest) < len(parts):
            text.lines[number] = "\n".join(rest) if rest else "#"


_INITIAL = re.compile(
    r"^  attribute \\init \d+'([01]+)\n(?:  attribute .*\n)*  wire .*?(\S+)$", re.M
)


def _check_reset(text: str, initialised: list[str]) -> None:
    """Raises ValueError for a register among the signals with initial values, if nothing resets
    it."""
    processes = re.findall(r"^  process .*?^  end$", text, re.M | re.S)
    reset = {
        name
        for process in processes
        if "switch \\rst [0]" in process
        for name in re.findall(r"assign ([\\$]\S+)", process)
    }
    data = {
        output: source
        for cell in re.findall(r"^  cell \$dff .*?^  end$", text, re.M | re.S)
        for source in re.findall(r"connect \\D ([\\$][^\s{}]+)", cell)
        for output in re.findall(r"connect \\Q (\S+)", cell)
    }
    # A wire that is nothing but a register has its initial value, too.
    same = dict(re.findall(r"^connect (\\\S+) (\\\S+) \[[\d:]+\]$", text, re.M))
    for name in initialised:
        if data.get(same.get(name, name)) not in reset:
            raise ValueError(
                f"register `{name[1:]}` has an initial value, so it must not be without reset"
            )


def _drop_initial_values(text: str) -> str:
    """Removes the initial values of flip-flops; those that are not zero must be reset values."""
    initialised = [name for value, name in _INITIAL.findall(text) if "1" in value]
    if initialised:
        _check_reset(text, initialised)
    return re.sub(r"^  attribute \\init .*\n", "", text, flags=re.M)


def _drop_unused_clocks(text: str) -> str:
    for name in ("clk", "rst"):
        if len(re.findall(rf"\\{name}(?![\w$.])", text)) == 1:
            text = re.sub(rf"^  wire width 1 input \d+\s+\\{name}\n\n", "", text, flags=re.M)
    return text


_JOINED = re.compile(r"^connect (\\\w+) (\{ .+ \})$", re.M)


def _share_joined(rtlil: str) -> str:
    """Puts a signal in the place of the parts that it joins, wherever all of them are read."""
    joined = _JOINED.findall(rtlil)
    if not joined:
        return rtlil
    wires = _WIRE.findall(rtlil)
    ports = {name for _, port, name in wires if port.startswith((" input ", " output "))}
    widths = {name: int(width) for width, _, name in wires}
    shared: dict[str, str] = {}
    for name, parts in joined:
        if name not in ports and "__" not in name and name in widths:
            shared.setdefault(parts, name)
    if not shared:
        return rtlil
    lines = rtlil.split("\n")
    for number, line in enumerate(lines):
        if not line.endswith(" }"):
            continue
        head, _, parts = line.partition(" { ")
        name = shared.get(f"{{ {parts}")
        if name is not None and not head.endswith(f"connect {name}"):
            lines[number] = f"{head} {name} [{widths[name] - 1}:0]"
    return "\n".join(lines)


_ANY_WIRE = re.compile(r"^  wire width (\d+) (?:.* )?(\S+)$", re.M)
_ASSIGN = re.compile(r"    assign ([\\$]\S+) \[(\d+)(?::(\d+))?\] (.*)")


_UNCONDITIONAL = re.compile(r"^  process \S+\n((?:    assign [\\$].*\n)+)  end\n+", re.M)


def _connect_unconditional(rtlil: str) -> str:
    """Turn processes without conditions into connections."""
    widths = {name: int(width) for width, name in _ANY_WIRE.findall(rtlil)}
    signals = Signals(widths)

    def connection(process: re.Match[str]) -> str:
        matches = [_ASSIGN.fullmatch(line) for line in process[1].splitlines()]
        found = [match.groups() for match in matches if match]
        if len(found) < len(matches) or any(name != found[0][0] for name, *_ in found):
            return process[0]
        name, high, low, _ = found[0]
        bottom = int(low or high)
        bits: list[tuple[str, int]] = [("", 0)] * (int(high) - bottom + 1)
        for _, top, _, value in found:
            position = int(top) - bottom + 1
            for part, offset, size in signals.chunks(value):
                position -= size
                for k in range(size):
                    constant = offset < 0
                    bits[position + k] = (
                        (part[size - 1 - k], -1) if constant else (part, offset + k)
                    )
        whole = bottom == 0 and len(bits) == widths[name]
        target = name if whole else f"{name} [{high}:{bottom}]"
        return f"connect {target} {signals.spell(_runs(bits))}\n"

    return _UNCONDITIONAL.sub(connection, rtlil)


def _runs(bits: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Neighbouring bits of one signal together, as parts from the top bit down."""
    parts: list[tuple[str, int, int]] = []
    for name, offset in reversed(bits):
        if parts:
            last, low, size = parts[-1]
            if offset < 0 and low < 0:
                parts[-1] = (last + name, -1, size + 1)
                continue
            if last == name and low == offset + 1 and offset >= 0:
                parts[-1] = (name, offset, size + 1)
                continue
        parts.append((name, offset, 1))
    return parts


def _simplified(rtlil: str) -> str:
    """Returns the text without unused and without equal operations. Merging may make both sides of
    a choice the same; where it changes nothing, the other steps would not either."""
    parts = elements(rtlil)
    signals = Signals({part.wire: int(part.lines[0].split()[2]) for part in parts if part.wire})
    while True:
        plain = _drop_dead(without_trivial_operations(parts, signals))
        parts = _merge_equal(plain)
        if len(parts) == len(plain):
            return text_of(parts)


# Amaranth calls a signal after the first of its names that it meets, which may be that of a port of
# a memory or an instance that it drives: a counter would be called `count__addr`.
_WIRE = re.compile(r"^  wire width (\d+)( (?:input|output|inout) \d+)? +(\\\S+)$", re.M)
_REGISTER = re.compile(r"^  cell \$dff \S+\n(?:    .*\n)*?    connect \\Q (\\\S+)\n", re.M)
_ALIAS = re.compile(r"^connect (\\\S+) (\\\S+)(?: \[(?:(\d+):)?0\])?\n", re.M)


def with_own_names(rtlil: str) -> str:
    """Name each register that is called after something it drives as the signal that it is.

    It is called so if its name is that of a pin (``submodule__port``), it is no port of the module,
    and a signal of the same width, no pin and no port either, is connected to it.
    """
    aliases = [
        (own, pin, high)
        for own, pin, high in _ALIAS.findall(rtlil)
        if "__" in pin and "__" not in own
    ]
    if not aliases:
        return rtlil
    widths = {name: int(width) for width, port, name in _WIRE.findall(rtlil) if not port}
    registers = set(_REGISTER.findall(rtlil))
    renamed: dict[str, str] = {}
    for own, pin, high in aliases:
        is_pin = pin in registers
        whole = own in widths and widths[own] == widths.get(pin) == int(high or 0) + 1
        if is_pin and whole and pin not in renamed:
            renamed[pin] = own
    for pin, own in renamed.items():
        rtlil = re.sub(rf"^connect {re.escape(own)} {re.escape(pin)}\b.*\n", "", rtlil, flags=re.M)
        wire = rf"^(?:  attribute .*\n)*  wire width \d+ +{re.escape(own)}\n"
        rtlil = re.sub(wire, "", rtlil, flags=re.M)
        rtlil = rtlil.replace(f"{pin} ", f"{own} ").replace(f"{pin}\n", f"{own}\n")
    return rtlil


# RTLIL shifts with fewer bits than the operand has; linters cannot tell that this is meant.
_SHIFT = re.compile(
    r"^  cell \$shift (?P<name>\S+)\n"
    r"(?P<head>(?:    parameter .*\n)*)(?P<ports>(?:    connect .*\n)*)  end\n",
    re.M,
)


def with_whole_shifts(rtlil: str) -> str:
    """The module's text with such shifts."""
    if "\n  cell $shift " not in rtlil:
        return rtlil
    wires = (int(number) for number in re.findall(r"\$(\d+)\b", rtlil))
    free = max(wires, default=0)

    def whole(match: re.Match[str]) -> str:
        nonlocal free
        widths = dict(re.findall(r"parameter \\(\w+) (\d+)$", match["head"], re.M))
        shifted, taken = int(widths["A_WIDTH"]), int(widths["Y_WIDTH"])
        signed = widths["A_SIGNED"] != "0" or widths["B_SIGNED"] != "0"
        result = re.search(r"^    connect \\Y (.+)$", match["ports"], re.M)
        if taken >= shifted or signed or result is None:
            return match[0]
        free += 1
        bits = f"{taken - 1}:0" if taken > 1 else "0"
        head = match["head"].replace(f"\\Y_WIDTH {taken}", f"\\Y_WIDTH {shifted}")
        ports = match["ports"].replace(result[0], f"    connect \\Y ${free}")
        return (
            f"  wire width {shifted} ${free}\n\n"
            f"  cell $shr {match['name']}\n{head}{ports}  end\n\n"
            f"connect {result[1]} ${free} [{bits}]\n"
        )

    return _SHIFT.sub(whole, rtlil)


def tidy(rtlil: str, *, keep_clock: bool) -> str:
    """The module's text under the rules above; ``keep_clock`` leaves clk and rst as they are.

    Raises ValueError for a register that relies on its initial value.
    """
    rtlil = with_plain_memories(with_own_names(with_whole_shifts(rtlil)))
    plain = _connect_unconditional(_drop_initial_values(rtlil))
    text = ModuleText(_simplified(_share_joined(plain)))
    _narrow(text)
    if any(adds_nothing(cell) for cell in text.cells):
        text = ModuleText(_simplified("\n".join(text.lines)))
        _narrow(text)
    _extend(text)
    _attach_outputs(text)
    result = re.sub(r"^#\n+", "", "\n".join(text.lines), flags=re.M)
    return result if keep_clock else _drop_unused_clocks(result)
