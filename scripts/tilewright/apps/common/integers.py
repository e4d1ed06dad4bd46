"""Integers of any length from files and to files, decimal or hexadecimal.

Python's own conversions from and to decimals take the square of the length; here halves are
converted by themselves.
"""

from __future__ import annotations

import decimal
import re
from pathlib import Path

from ...errors import UserError
from .files import read_content, write_whole

__all__ = ["MOST_BITS", "SUFFIXES", "read_integer", "write_integer"]

MOST_BITS = 1 << 20
"""Most bits of an integer that is read."""

SUFFIXES = (".txt", ".hex")
"""Files of decimals and of hexadecimals that are written."""

_NUMBER = re.compile(rb"([+-]?)(0[xX])?([0-9a-fA-F]+)")
_MOST_BYTES = 1 << 22
_SHOWN = 40
_SHORT = 2000
"""Digits that Python converts, whatever its limit is set to."""
_WORD = 1 << 12
"""Bits that it converts to decimals."""


def read_integer(path: Path) -> int:
    """The integer of a file: digits, a sign before them if there is one; hexadecimal behind 0x, or
    if the file's name ends in .hex. White space around lines does not count.

    Raises UserError for a file that cannot be read, for what is no integer, and for one of more
    than ``MOST_BITS`` bits.
    """
    content = read_content(path)
    hexadecimal = path.suffix.lower() == ".hex"
    kind = "hexadecimal" if hexadecimal else "decimal, or hexadecimal behind 0x"
    if len(content) > _MOST_BYTES:
        raise UserError(f"{path}: {len(content)} bytes are too many; at most {_MOST_BYTES} are "
                        f"allowed")  # fmt: skip
    text = b"".join(line.strip() for line in content.splitlines())
    found = _NUMBER.fullmatch(text)
    if not found or not (hexadecimal or found[2] or found[3].isdigit()):
        shown = ascii(text[:_SHOWN].decode("latin-1")) + ("..." if len(text) > _SHOWN else "")
        raise UserError(f"{path}: must hold an integer, {kind}, not {shown}")
    digits = found[3].decode()
    sixteen = hexadecimal or bool(found[2])
    value = int(digits, 16) if sixteen else _from_decimals(digits, {})
    if value.bit_length() > MOST_BITS:
        raise UserError(f"{path}: an integer must have at most {MOST_BITS} bits, not "
                        f"{value.bit_length()}")  # fmt: skip
    return -value if found[1] == b"-" else value


def write_integer(path: Path, value: int) -> None:
    """Write an integer in a line, hexadecimal behind 0x if the name ends in .hex, else decimal."""
    if path.suffix.lower() == ".hex":
        text = f"{value:#x}"
    else:
        text = "-" * (value < 0) + _to_decimals(abs(value))
    write_whole(path, lambda file: file.write(text.encode() + b"\n"))


def _from_decimals(digits: str, powers: dict[int, int]) -> int:
    if len(digits) <= _SHORT:
        return int(digits)
    half = 1 << (len(digits) - 1).bit_length() - 1
    if half not in powers:
        powers[half] = 10**half
    high = _from_decimals(digits[:-half], powers)
    return high * powers[half] + _from_decimals(digits[-half:], powers)


def _to_decimals(value: int) -> str:
    """Prints an integer by way of the module `decimal`, whose products of long numbers are fast."""
    with decimal.localcontext() as context:
        context.prec, context.Emax = decimal.MAX_PREC, decimal.MAX_EMAX
        context.traps[decimal.Inexact] = True
        powers: dict[int, decimal.Decimal] = {}
        return f"{_as_decimal(value, powers):f}"


def _as_decimal(value: int, powers: dict[int, decimal.Decimal]) -> decimal.Decimal:
    if value.bit_length() <= _WORD:
        return decimal.Decimal(value)
    half = 1 << (value.bit_length() - 1).bit_length() - 1
    if half not in powers:
        powers[half] = decimal.Decimal(2) ** half
    high = _as_decimal(value >> half, powers)
    return high * powers[half] + _as_decimal(value & ((1 << half) - 1), powers)
