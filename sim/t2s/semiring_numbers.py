"""The operators of a semiring on Python's numbers: exact on integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...hw.spec.semirings import SEMIRINGS

__all__ = ["FUNCTIONS", "Arithmetic", "PythonNumbers", "constant", "operators"]

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
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "absolute": abs,
    "negate": lambda a: -a,
    "relu": lambda a: max(a, 0),
}
"""Of one word."""

_CONSTANTS = {"0": 0, "+inf": math.inf, "-inf": -math.inf}


def operators(semiring: str) -> tuple[Operator, Operator, Any]:
    """(+), (x), and the identity of (+)."""
    row = SEMIRINGS[semiring]
    return _OPERATORS[row.plus], _OPERATORS[row.times], constant(row.identity)


def constant(name: str) -> Any:
    """What "0", "+inf" and "-inf" are."""
    return _CONSTANTS[name]


class Arithmetic(Protocol):
    """What an interpreter computes with: words of operands, products of them, and sums.

    Members
    -------
    identity: the sum of nothing
    """

    identity: Any

    def constant(self, name: str) -> Any:
        """The word "0", "+inf" or "-inf"."""

    def apply(self, name: str, value: Any) -> Any:
        """A function of a word or of a sum."""

    def plus(self, total: Any, term: Any) -> Any:
        """A sum and a word or a product more."""

    def times(self, a: Any, b: Any) -> Any:
        """The product of words, products and sums."""

    def fold(self, total: Any, terms: tuple[Any, ...]) -> Any:
        """A sum and the words or products of all lanes more."""

    def finished(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers of an array of sums."""


class PythonNumbers:
    """The operators of Python's numbers, one after the other.

    Parameters
    ----------
    semiring: name of (+) and (x)
    """

    def __init__(self, semiring: str) -> None:
        self._plus, self._times, self.identity = operators(semiring)

    def constant(self, name: str) -> Any:
        return constant(name)

    def apply(self, name: str, value: Any) -> Any:
        return FUNCTIONS[name](value)

    def plus(self, total: Any, term: Any) -> Any:
        return self._plus(total, term)

    def times(self, a: Any, b: Any) -> Any:
        return self._times(a, b)

    def fold(self, total: Any, terms: tuple[Any, ...]) -> Any:
        for one in terms:
            total = self._plus(total, one)
        return total

    def finished(self, sums: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
        return sums
