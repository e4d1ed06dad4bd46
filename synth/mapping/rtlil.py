"""Reading RTLIL, yosys' text form of a design."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["CONNECTION", "PARAMETER", "number", "signal_bits", "wire_widths"]

PARAMETER = re.compile(r"^ +parameter (?:signed )?\\(\w+) (\S+)$", re.MULTILINE)
CONNECTION = re.compile(r"^ +connect \\(\w+) (.*)$", re.MULTILINE)
_WIRE = re.compile(r"^ +wire (?:width (\d+) )?.*?(\S+)$", re.MULTILINE)
_CHUNK = re.compile(r"(\d+)'(\S+)|([\\$]\S+)(?: \[(\d+)(?::(\d+))?\])?")


def number(text: str) -> int:
    """A parameter's value, in bits or in digits."""
    return int(text.split("'")[-1], 2) if "'" in text else int(text)


def wire_widths(rtlil: str) -> dict[str, int]:
    """Widths of a module's wires, by name."""
    return {name: int(width or 1) for width, name in _WIRE.findall(rtlil)}


def signal_bits(signal: str, widths: Mapping[str, int]) -> list[str]:
    """The bits of a signal in RTLIL, lowest first, each as RTLIL."""
    chunks: list[list[str]] = []
    for match in _CHUNK.finditer(signal):
        size, value, name, high, low = match.groups()
        if size:
            digits = value.rjust(int(size), value[0] if value[0] in "xz-" else "0")
            chunks.append([f"1'{digit}" for digit in reversed(digits)])
            continue
        first = int(low or high or 0)
        last = int(high) if high else widths[name] - 1
        chunks.append([f"{name} [{index}]" for index in range(first, last + 1)])
    return [bit for chunk in reversed(chunks) for bit in chunk]
