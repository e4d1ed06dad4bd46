"""Boolean functions of cells, as Liberty writes them: read to trees, and evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["Function", "parse_function"]

_TOKEN = re.compile(r"[A-Za-z_][\w\[\]]*|[01()!'&*^|+]")


@dataclass(frozen=True)
class Function:
    """A node of a function's tree.

    Members
    -------
    kind: "name", "0", "1", "!", "&", "^" or "|"; the last three have two parts
    name: of a pin or a state variable
    parts: the operands
    """

    kind: str
    name: str = ""
    parts: tuple[Function, ...] = ()

    def value(self, values: Mapping[str, Any]) -> Any:
        """The value, from those of the names: booleans or arrays of such. A name that has no value
        is false."""
        if self.kind == "name":
            return values.get(self.name, False)
        if self.kind in "01":
            return self.kind == "1"
        if self.kind == "!":
            return True ^ self.parts[0].value(values)
        left, right = (part.value(values) for part in self.parts)
        if self.kind == "&":
            return left & right
        return left ^ right if self.kind == "^" else left | right

    def names(self) -> Iterator[str]:
        """Yields the names in it, in order, each as often as it occurs."""
        if self.kind == "name":
            yield self.name
        for part in self.parts:
            yield from part.names()


class _Reader:
    """Recursive descent; precedence from ``!`` and ``'`` over ``^`` and ``&`` to ``|``."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def unary(self) -> Function:
        token = self.take()
        if token == "!":
            return Function("!", parts=(self.unary(),))
        if token == "(":
            found = self.either()
            self.take()
        elif token in ("0", "1", ""):
            found = Function(token or "0")
        else:
            found = Function("name", token)
        while self.peek() == "'":
            self.take()
            found = Function("!", parts=(found,))
        return found

    def exclusive(self) -> Function:
        found = self.unary()
        while self.peek() == "^":
            self.take()
            found = Function("^", parts=(found, self.unary()))
        return found

    def both(self) -> Function:
        found = self.exclusive()
        while self.peek() and self.peek() not in ")|+":
            if self.peek() in "&*":
                self.take()
            found = Function("&", parts=(found, self.exclusive()))
        return found

    def either(self) -> Function:
        found = self.both()
        while self.peek() and self.peek() in "|+":
            self.take()
            found = Function("|", parts=(found, self.both()))
        return found


@cache
def parse_function(text: str) -> Function:
    """The tree of an expression of ``! ' & * (blank) ^ | +`` and parentheses."""
    return _Reader(text).either()
