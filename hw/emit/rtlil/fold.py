"""Operations that need not be computed because an operand is a constant, or both are the same.

Generators leave them behind at the edges of an array, where a condition is always true or a choice
has one side only. A shift by a constant, and a product with a power of two, is a choice of bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .text import NAME, Cell, Element, Signals

__all__ = ["adds_nothing", "without_trivial_operations"]


def _constant(sigspec: str) -> str:
    """The bits of a constant; nothing for anything else. One without bits is 0."""
    size, _, bits = sigspec.partition("'")
    if size.isdigit() and not bits.strip("01"):
        return bits
    return "0" if sigspec[:1] == "{" and not sigspec[1:-1].strip() else ""


def _width(cell: Cell, port: str) -> int:
    return cell.parameters[f"{port}_WIDTH"][0]


def _compared_bit(cell: Cell, constant: str) -> str:
    """The bit that is compared with a constant of one bit; nothing for any other cell."""
    if cell.kind not in ("$eq", "$ne") or max(_width(cell, "\\A"), _width(cell, "\\B")) != 1:
        return ""
    a, b = cell.ports["\\A"][0], cell.ports["\\B"][0]
    return b if _constant(a) == constant else a if _constant(b) == constant else ""


def _inversion(lines: list[str], bit: str) -> list[str]:
    """The lines of such a comparison, if true for 0, as those of an inversion."""
    kept = [re.sub(r"^  cell \$\w+", "  cell $not", line) for line in lines]
    kept = [f"    connect \\A {bit}" if "connect \\A " in line else line for line in kept]
    return [line for line in kept if not re.match(r"    \w+ \\B", line)]


_EVALUATED: dict[str, Callable[[int, int], int]] = {
    "$not": lambda a, _: ~a,
    "$reduce_or": lambda a, _: a != 0,
    "$reduce_bool": lambda a, _: a != 0,
    "$and": int.__and__,
    "$or": int.__or__,
    "$xor": int.__xor__,
    "$add": int.__add__,
    "$sub": int.__sub__,
    "$mul": int.__mul__,
    "$eq": int.__eq__,
    "$ne": int.__ne__,
    "$lt": int.__lt__,
    "$le": int.__le__,
    "$gt": int.__gt__,
    "$ge": int.__ge__,
}
"""Results of operations with constants."""


def _value(cell: Cell, port: str) -> int | None:
    """The value of an operand that is a constant; 0 for one that the operation does not have."""
    if port not in cell.ports:
        return 0
    digits = _constant(cell.ports[port][0])
    negative = digits[:1] == "1" and cell.parameters[f"{port}_SIGNED"][0]
    return int(digits, 2) - (negative << len(digits)) if digits else None


def _evaluated(cell: Cell) -> str:
    """The result of an operation with constants; nothing if it depends on a signal."""
    operands = [_value(cell, port) for port in ("\\A", "\\B")]
    signs = {cell.parameters[f"{port}_SIGNED"][0] for port in ("\\A", "\\B") if port in cell.ports}
    if None in operands or len(signs) > 1:
        return ""
    bits = _width(cell, "\\Y")
    result = int(_EVALUATED[cell.kind](*operands))  # type: ignore[arg-type]
    return f"{bits}'{result & ((1 << bits) - 1):0{bits}b}"


def _multiple(signals: Signals, cell: Cell) -> str:
    """The bits of a product with a power of two; nothing for any other cell."""
    for port, other in (("\\A", "\\B"), ("\\B", "\\A")):
        factor, signed = _value(cell, other), bool(cell.parameters[f"{port}_SIGNED"][0])
        if factor is None or factor <= 0 or factor & (factor - 1):
            continue
        if signed != bool(cell.parameters[f"{other}_SIGNED"][0]):
            continue
        bits = _width(cell, "\\Y")
        steps = min(factor.bit_length() - 1, bits)
        kept = signals.resized(cell.ports[port][0], bits - steps, signed=signed)
        return signals.spell([*signals.chunks(kept), ("0" * steps, -1, steps)]) if steps else kept
    return ""


def _shifted(signals: Signals, cell: Cell) -> str:
    """The bits of a shift by a constant."""
    width, operand = _width(cell, "\\Y"), cell.ports["\\A"][0]
    if cell.kind in ("$shr", "$shift"):
        size, first = _width(cell, "\\A"), int(_constant(cell.ports["\\B"][0]), 2)
        kept = _part(signals, operand, size - 1, first) if first < size else "1'0"
        return signals.resized(kept, width, signed=False)
    steps = min(int(_constant(cell.ports["\\B"][0]), 2), width)
    signed = bool(cell.parameters["\\A_SIGNED"][0])
    kept = signals.resized(operand, width - steps, signed=signed)
    return signals.spell([*signals.chunks(kept), ("0" * steps, -1, steps)])


def _summand(cell: Cell) -> str:
    """Returns the operand that a sum or a difference with zero equals; empty for any other cell."""
    if cell.kind not in ("$add", "$sub"):
        return ""
    if cell.parameters["\\A_SIGNED"][0] != cell.parameters["\\B_SIGNED"][0]:
        return ""
    if set(_constant(cell.ports["\\B"][0])) == {"0"}:
        return "\\A"
    swaps = cell.kind == "$add" and set(_constant(cell.ports["\\A"][0])) == {"0"}
    return "\\B" if swaps else ""


def adds_nothing(cell: Cell) -> bool:
    """Returns whether a cell adds or subtracts zero; it may do so if nothing reads its upper
    bits."""
    return bool(_summand(cell))


def _result(signals: Signals, cell: Cell) -> str:
    """The signal that a cell's result is; nothing if it has to be computed."""
    ports = {name: sigspec for name, (sigspec, _) in cell.ports.items()}
    a, b = ports.get("\\A", ""), ports.get("\\B", "")
    if cell.kind == "$mux":
        chosen = {"0": a, "1": b}.get(_constant(ports["\\S"]), "")
        return chosen or (a if a == b else "")
    if cell.kind in _EVALUATED and (constant := _evaluated(cell)):
        return constant
    if cell.kind == "$mul" and (multiple := _multiple(signals, cell)):
        return multiple
    if port := _summand(cell):
        signed = bool(cell.parameters[f"{port}_SIGNED"][0])
        return signals.resized(ports[port], _width(cell, "\\Y"), signed=signed)
    if cell.kind in ("$shl", "$shr", "$sshl") and set(_constant(b)) == {"0"}:
        signed = bool(cell.parameters["\\A_SIGNED"][0])
        same = cell.kind != "$shr" or not signed or _width(cell, "\\A") >= _width(cell, "\\Y")
        return signals.resized(a, _width(cell, "\\Y"), signed=signed) if same else ""
    signs = [cell.parameters.get(f"\\{port}_SIGNED", (0, 0))[0] for port in "AB"]
    widened = cell.kind != "$shl" and any(signs)
    if cell.kind in ("$shl", "$shr", "$shift") and _constant(b) and not widened:
        return _shifted(signals, cell)
    if bit := _compared_bit(cell, "1" if cell.kind == "$eq" else "0"):
        return bit
    if cell.kind in ("$and", "$or"):
        if not _width(cell, "\\A") == _width(cell, "\\B") == _width(cell, "\\Y"):
            return ""
        neutral, strong = ("1", "0") if cell.kind == "$and" else ("0", "1")
        for one, other in ((a, b), (b, a)):
            if set(_constant(one)) == {neutral}:
                return other
            if set(_constant(one)) == {strong}:
                return one
    return ""


def _part(signals: Signals, sigspec: str, high: int, low: int) -> str:
    """Bits of a signal."""
    parts: list[tuple[str, int, int]] = []
    bottom = sum(size for _, _, size in signals.chunks(sigspec))
    for name, first, size in signals.chunks(sigspec):
        bottom -= size
        top, start = min(high - bottom, size - 1), max(low - bottom, 0)
        if top < start:
            continue
        constant = first < 0
        bits = name[size - 1 - top : size - start] if constant else name
        parts.append((bits, -1 if constant else first + start, top - start + 1))
    return signals.spell(parts)


# Not within the name of another signal: the second one called `x` is `\x$2`.
_USE = re.compile(r"(?<!\S)([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


def _replace(signals: Signals, part: Element, equal: Mapping[str, str]) -> Element:
    """An element with the signals that private signals equal, or parts of these, in their place."""

    def bits(match: re.Match[str]) -> str:
        if match[1] not in equal:
            return match[0]
        high = int(match[2] or signals.widths[match[1]] - 1)
        return _part(signals, equal[match[1]], high, int(match[3] or match[2] or 0))

    lines = part.lines[:]
    for number, line in enumerate(lines):
        # The replacement of a signal may contain others that are replaced, too.
        while "$" in line and (replaced := _USE.sub(bits, line)) != line:
            line = replaced
        lines[number] = line
    return part.with_lines(lines)


def without_trivial_operations(parts: list[Element], signals: Signals) -> list[Element]:
    """Returns a module with the results of trivial operations in their place. A cell is looked at
    again if a signal that it reads was replaced."""
    looked_at: dict[int, Element] = {}  # By identity, which stays theirs while they are here.
    while True:
        equal: dict[str, str] = {}
        kept: list[Element] = []
        for part in parts:
            if not part.is_cell or id(part) in looked_at:
                kept.append(part)
                continue
            cell = part.cell
            result = _result(signals, cell) if cell.kind.startswith("$") else ""
            # A cell that equals a signal that has just been replaced waits for the next round.
            waits = bool(result) and not equal.keys().isdisjoint(NAME.findall(result))
            if bit := _compared_bit(cell, "0" if cell.kind == "$eq" else "1"):
                part = part.with_lines(_inversion(part.lines, bit))
            if not result or waits:
                kept.append(part)
                if not waits:
                    looked_at[id(part)] = part
                continue
            target = cell.ports["\\Y"][0]
            if target.startswith("$"):
                equal[target] = result
            else:
                kept.append(Element(part.before, [f"connect {target} {result}"], 0))
        if kept == parts:
            return kept
        if equal:
            kept = [
                part
                if part.wire or (equal.keys().isdisjoint(part.reads | part.drives))
                else _replace(signals, part, equal)
                for part in kept
            ]
        parts = kept
