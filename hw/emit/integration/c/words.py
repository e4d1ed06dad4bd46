"""Writes names, constants and remarks in the form that C and C++ accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..texts import identifier, plain, wrapped

__all__ = ["Definitions", "comment", "hexadecimal", "literal", "member"]

_TEXT = """
alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl
concept const const_cast constexpr continue decltype default delete do double dynamic_cast else
enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual
void volatile wchar_t while xor xor_eq
"""

_WORDS = frozenset(_TEXT.split())
"""The words of either language."""


def member(name: str) -> str:
    """A name in lower case that is a word of neither language."""
    return identifier(name.lower(), _WORDS)


def hexadecimal(value: int, bits: int = 32) -> str:
    """An unsigned constant of 32 or 64 bits."""
    return f"UINT{bits}_C({value:#x})"


def literal(value: Any) -> str:
    """A parameter's value: a number, 0 or 1, or a text."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 31 else f"INT64_C({value})"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def comment(text: str) -> Iterator[str]:
    """A remark of one line or several."""
    lines = wrapped(text.replace("*/", "* /").replace("/*", "/ *"), 92)
    if len(lines) > 1:
        yield f"/* {lines[0]}"
        yield from (f" * {line}" for line in lines[1:-1])
        yield f" * {lines[-1]} */"
    elif lines:
        yield f"/* {lines[0]} */"


class Definitions:
    """``#define`` lines with names that share a prefix and are unique.

    Parameters
    ----------
    prefix: what names begin with, in upper case
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = identifier(prefix).upper()
        self._names: set[str] = set()

    @property
    def prefix(self) -> str:
        return self._prefix

    def name(self, *parts: str) -> str:
        """A name made of parts, taken from now on. Raises ValueError if it has been."""
        found = identifier("_".join(filter(None, (self._prefix, *parts)))).upper()
        if found in self._names:
            raise ValueError(f"two constants of the header would be called {found}")
        self._names.add(found)
        return found

    def define(self, parts: tuple[str, ...], value: str, doc: str = "") -> str:
        """Writes a line that defines a name as a value."""
        remark = f" /* {plain(doc).replace('*/', '* /').replace('/*', '/ *')} */" if doc else ""
        return f"#define {self.name(*parts)} {value}{remark}"
