"""Memories in a module's RTLIL: their contents at power-up, and the registers at their outputs.

* Contents that are all zero are what Amaranth writes for a memory without any; in Verilog they
  would be a line for each word. They go, so that a memory holds anything after power-up (a reset
  does not clear it, either): a design must not use a word before it has written it. Contents
  with a one in them stay, and those of a memory that nothing writes.
* A synchronous read port becomes one that reads at once, and a register, which is the signal
  that the port drives. Yosys writes the same thing with a nameless register of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

__all__ = ["with_plain_memories"]

_CELL = re.compile(r"^  cell \$(meminit_v2|memrd_v2) \S+\n(.*?)^  end\n\n?", re.M | re.S)
_WRITTEN = re.compile(r'^  cell \$memwr_v2 \S+\n    parameter \\MEMID "\\\\(\S+)"$', re.M)
_SETTING = re.compile(r"^    (?:parameter|connect) \\(\w+) (.*)$", re.M)
_READ_REGISTER = {"CLK_ENABLE": "1", "CLK_POLARITY": "1", "ARST": "1'0", "SRST": "1'0"}
"""Parameters of a port whose register is Amaranth's: no resets."""


def _bits(constant: str) -> str:
    """The digits of a constant."""
    return constant.partition("'")[2]


def _read_register(cell: str, settings: dict[str, str], new: Iterator[str]) -> str:
    """A synchronous read port as an asynchronous one, the word it reads, and a register."""
    width, enable, register = settings["WIDTH"], settings["EN"], settings["DATA"]
    word = next(new)
    for name, value in (("CLK_ENABLE", "0"), ("EN", "1'1"), ("CLK", "1'0"), ("DATA", word)):
        cell = re.sub(rf"^(    \w+ \\{name}) .*$", rf"\g<1> {value}", cell, flags=re.M)
    parts = [f"  wire width {width} {word}\n", cell.rstrip() + "\n"]
    following = word
    if enable != "1'1":
        following = next(new)
        whole = f"[{int(width) - 1}:0]"
        parts.insert(0, f"  wire width {width} {following}\n")
        parts.append(
            f"  process {next(new)}\n"
            f"    assign {following} {whole} {register} {whole}\n"
            f"    switch {enable}\n"
            f"      case 1'1\n"
            f"        assign {following} {whole} {word} {whole}\n"
            f"    end\n"
            f"  end\n"
        )
    parts.append(
        f"  cell $dff {next(new)}\n"
        f"    parameter \\WIDTH {width}\n"
        f"    parameter \\CLK_POLARITY 1\n"
        f"    connect \\D {following}\n"
        f"    connect \\CLK {settings['CLK']}\n"
        f"    connect \\Q {register}\n"
        f"  end\n"
    )
    return "\n".join(parts) + "\n"


def with_plain_memories(text: str) -> str:
    """A module's text under the rules above.

    Ports that are transparent for a write port stay as they are.
    """
    if "\n  cell $mem" not in text:
        return text
    written = set(_WRITTEN.findall(text))
    highest = max(map(int, re.findall(r"\$(\d+)\b", text)), default=0)
    new = (f"${number}" for number in count(highest + 1))

    def changed(match: re.Match[str]) -> str:
        settings = dict(_SETTING.findall(match[2]))
        memory = settings["MEMID"].strip('"').lstrip("\\")
        if match[1] == "meminit_v2":
            empty = "1" not in _bits(settings["DATA"]) and memory in written
            return "" if empty else match[0]
        plain = all(settings[name] == value for name, value in _READ_REGISTER.items())
        masks = ("TRANSPARENCY_MASK", "COLLISION_X_MASK")
        if not plain or any("1" in _bits(settings[name]) for name in masks):
            return match[0]
        return _read_register(match[0], settings, new)

    return _CELL.sub(changed, text)
