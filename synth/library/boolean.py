"""Liberty's boolean expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

__all__ = ["evaluate", "truth_table"]

_TOKEN = re.compile(r"[A-Za-z_][\w\[\]]*|[01()!'&*^|+]")


class _Expression:
    """Recursive descent; precedence from ``!`` and ``'`` over ``^`` and ``&`` to ``|``."""

    def __init__(self, text: str, values: Mapping[str, bool]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.values = values
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def unary(self) -> bool:
        token = self.take()
        if token == "!":
            return not self.unary()
        if token == "(":
            value = self.either()
            self.take()
        else:
            value = token == "1" or self.values.get(token, False)
        while self.peek() == "'":
            self.take()
            value = not value
        return value

    def exclusive(self) -> bool:
        value = self.unary()
        while self.peek() == "^":
            self.take()
            value ^= self.unary()
        return value

    def both(self) -> bool:
        value = self.exclusive()
        while self.peek() and self.peek() not in ")|+":
            if self.peek() in "&*":
                self.take()
            value &= self.exclusive()
        return value

    def either(self) -> bool:
        value = self.both()
        while self.peek() and self.peek() in "|+":
            self.take()
            value |= self.both()
        return value


def evaluate(function: str, values: Mapping[str, bool]) -> bool:
    """Value of an expression of ``! ' & * (blank) ^ | +`` and parentheses; a name that has no
    value is false."""
    return _Expression(function, values).either()


def truth_table(function: str, inputs: Sequence[str]) -> tuple[bool, ...]:
    """Values over all values of the inputs, the first input changing slowest."""
    points = product((False, True), repeat=len(inputs))
    return tuple(evaluate(function, dict(zip(inputs, p, strict=True))) for p in points)
