"""Operations that need not be computed because an operand is a constant, or both are the same.

Generators leave them behind at the edges of an array, where a condition is always true or a choice
has one side only. A shift by a constant, and a product with a power of two, is a choice of bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .text import NAME, Cell, ModuleText, elements

__all__ = ["adds_nothing", "without_trivial_operations"]


def _constant(sigspec: str) -> str:
    """The bits of a constant; nothing for anything else. One without bits is 0."""
    match = re.fullmatch(r"\d+'([01]+)", sigspec)
    return match[1] if match else "0" if re.fullmatch(r"\{\s*\}", sigspec) else ""


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
    return ["#" if re.match(r"    \w+ \\B", line) else line for line in kept]


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


def _multiple(text: ModuleText, cell: Cell) -> str:
    """The bits of a product with a power of two; nothing for any other cell."""
    for port, other in (("\\A", "\\B"), ("\\B", "\\A")):
        factor, signed = _value(cell, other), bool(cell.parameters[f"{port}_SIGNED"][0])
        if factor is None or factor <= 0 or factor & (factor - 1):
            continue
        if signed != bool(cell.parameters[f"{other}_SIGNED"][0]):
            continue
        bits = _width(cell, "\\Y")
        steps = min(factor.bit_length() - 1, bits)
        kept = text.resized(cell.ports[port][0], bits - steps, signed=signed)
        return text.spell([*text.chunks(kept), ("0" * steps, -1, steps)]) if steps else kept
    return ""


def _shifted(text: ModuleText, cell: Cell) -> str:
    """The bits of a shift by a constant."""
    width, operand = _width(cell, "\\Y"), cell.ports["\\A"][0]
    if cell.kind in ("$shr", "$shift"):
        size, first = _width(cell, "\\A"), int(_constant(cell.ports["\\B"][0]), 2)
        kept = _part(text, operand, size - 1, first) if first < size else "1'0"
        return text.resized(kept, width, signed=False)
    steps = min(int(_constant(cell.ports["\\B"][0]), 2), width)
    signed = bool(cell.parameters["\\A_SIGNED"][0])
    kept = text.resized(operand, width - steps, signed=signed)
    return text.spell([*text.chunks(kept), ("0" * steps, -1, steps)])


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


def _result(text: ModuleText, cell: Cell) -> str:
    """The signal that a cell's result is; nothing if it has to be computed."""
    ports = {name: sigspec for name, (sigspec, _) in cell.ports.items()}
    a, b = ports.get("\\A", ""), ports.get("\\B", "")
    if cell.kind == "$mux":
        chosen = {"0": a, "1": b}.get(_constant(ports["\\S"]), "")
        return chosen or (a if a == b else "")
    if cell.kind in _EVALUATED and (constant := _evaluated(cell)):
        return constant
    if cell.kind == "$mul" and (multiple := _multiple(text, cell)):
        return multiple
    if port := _summand(cell):
        signed = bool(cell.parameters[f"{port}_SIGNED"][0])
        return text.resized(ports[port], _width(cell, "\\Y"), signed=signed)
    if cell.kind in ("$shl", "$shr", "$sshl") and set(_constant(b)) == {"0"}:
        signed = bool(cell.parameters["\\A_SIGNED"][0])
        same = cell.kind != "$shr" or not signed or _width(cell, "\\A") >= _width(cell, "\\Y")
        return text.resized(a, _width(cell, "\\Y"), signed=signed) if same else ""
    signs = [cell.parameters.get(f"\\{port}_SIGNED", (0, 0))[0] for port in "AB"]
    widened = cell.kind != "$shl" and any(signs)
    if cell.kind in ("$shl", "$shr", "$shift") and _constant(b) and not widened:
        return _shifted(text, cell)
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


def _part(text: ModuleText, sigspec: str, high: int, low: int) -> str:
    """Bits of a signal."""
    parts: list[tuple[str, int, int]] = []
    bottom = sum(size for _, _, size in text.chunks(sigspec))
    for name, first, size in text.chunks(sigspec):
        bottom -= size
        top, start = min(high - bottom, size - 1), max(low - bottom, 0)
        if top < start:
            continue
        constant = first < 0
        bits = name[size - 1 - top : size - start] if constant else name
        parts.append((bits, -1 if constant else first + start, top - start + 1))
    return text.spell(parts)


# Not within the name of another signal: the second one called `x` is `\x$2`.
_USE = re.compile(r"(?<!\S)([\\$][^\s{}]+)(?: \[(\d+)(?::(\d+))?\])?")


def _replace(text: ModuleText, equal: Mapping[str, str]) -> None:
    """Replaces private signals by the signals that they equal, or by parts of these."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in equal:
            return match[0]
        high = int(match[2] or text.widths[match[1]] - 1)
        return _part(text, equal[match[1]], high, int(match[3] or match[2] or 0))

    for number, line in enumerate(text.lines):
        if "$" not in line or line.startswith("  wire "):
            continue
        # The replacement of a signal may contain others that are replaced, too.
        while (replaced := _USE.sub(part, line)) != line:
            line = replaced
        text.lines[number] = line


def _folded(rtlil: str) -> str:
    text = ModuleText(rtlil)
    places = [e for e in elements(text.lines) if text.lines[e.first].startswith("  cell ")]
    equal: dict[str, str] = {}
    for place, cell in zip(places, text.cells, strict=True):
        if bit := _compared_bit(cell, "0" if cell.kind == "$eq" else "1"):
            lines = text.lines[place.first : place.last + 1]
            text.lines[place.first : place.last + 1] = _inversion(lines, bit)
        result = _result(text, cell) if cell.kind.startswith("$") else ""
        # A cell that equals a signal that has just been replaced waits for the next round.
        if not result or equal.keys() & set(NAME.findall(result)):
            continue
        target = cell.ports["\\Y"][0]
        text.lines[place.first : place.last + 1] = ["#"] * (place.last - place.first + 1)
        if target.startswith("$"):
            equal[target] = result
        else:
            text.lines[place.first] = f"connect {target} {result}"
    if equal:
        _replace(text, equal)
    return re.sub(r"^#\n+", "", "\n".join(text.lines), flags=re.M)


def without_trivial_operations(rtlil: str) -> str:
    """Returns a module's text with the results of trivial operations in their place."""
    while (folded := _folded(rtlil)) != rtlil:
        rtlil = folded
    return rtlil
