"""Bits of a signal from a variable place on: a shift of all of it, of which the low bits are taken.

As RTLIL has it, a shift with fewer bits than it shifts, no linter would know what was meant.
"""

from __future__ import annotations

import re

__all__ = ["with_whole_shifts"]

_SHIFT = re.compile(
    r"^  cell \$shift (?P<name>\S+)\n"
    r"(?P<head>(?:    parameter .*\n)*)(?P<ports>(?:    connect .*\n)*)  end\n",
    re.M,
)


def with_whole_shifts(rtlil: str) -> str:
    """The module's text with such shifts."""
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
