"""The operators of a semiring on Python's numbers: exact on integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...hw.spec.semirings import SEMIRINGS

__all__ = ["constant", "operators"]

Operator = Callable[[Any, Any], Any]

_OPERATORS: dict[str, Operator] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "or": lambda a, b: int(bool(a) or bool(b)),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "square_difference": lambda a, b: (a - b) * (a - b),
    "second": lambda a, b: b if a else 0,
}
_CONSTANTS = {"0": 0, "+inf": math.inf, "-inf": -math.inf}


def operators(semiring: str) -> tuple[Operator, Operator, Any]:
    """(+), (x), and the identity of (+)."""
    row = SEMIRINGS[semiring]
    return _OPERATORS[row.plus], _OPERATORS[row.times], constant(row.identity)


def constant(name: str) -> Any:
    """What "0", "+inf" and "-inf" are."""
    return _CONSTANTS[name]
