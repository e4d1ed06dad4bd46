"""Registers under names of their own.

Amaranth calls a signal after the first of its names that it meets, which may be that of a memory's
port or of an instance's that it drives: a counter would be called `count__addr`.
"""

from __future__ import annotations

import re

__all__ = ["with_own_names"]

_WIRE = re.compile(r"^  wire width (\d+)( (?:input|output|inout) \d+)? +(\\\S+)$", re.M)
_REGISTER = re.compile(r"^  cell \$dff \S+\n(?:    .*\n)*?    connect \\Q (\\\S+)\n", re.M)
_ALIAS = re.compile(r"^connect (\\\S+) (\\\S+)(?: \[(?:(\d+):)?0\])?\n", re.M)


def with_own_names(rtlil: str) -> str:
    """Name each register that is called after something it drives as the signal that it is.

    It is called so if its name is that of a pin (``submodule__port``), it is no port of the module,
    and a signal of the same width, no pin and no port either, is connected to it.
    """
    widths = {name: int(width) for width, port, name in _WIRE.findall(rtlil) if not port}
    registers = set(_REGISTER.findall(rtlil))
    renamed: dict[str, str] = {}
    for own, pin, high in _ALIAS.findall(rtlil):
        is_pin = pin in registers and "__" in pin and "__" not in own
        whole = own in widths and widths[own] == widths.get(pin) == int(high or 0) + 1
        if is_pin and whole and pin not in renamed:
            renamed[pin] = own
    for pin, own in renamed.items():
        rtlil = re.sub(rf"^connect {re.escape(own)} {re.escape(pin)}\b.*\n", "", rtlil, flags=re.M)
        wire = rf"^(?:  attribute .*\n)*  wire width \d+ +{re.escape(own)}\n"
        rtlil = re.sub(wire, "", rtlil, flags=re.M)
        rtlil = rtlil.replace(f"{pin} ", f"{own} ").replace(f"{pin}\n", f"{own}\n")
    return rtlil
