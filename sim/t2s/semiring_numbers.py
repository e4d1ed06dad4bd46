"""The operators of a semiring on Python's numbers: exact on integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...hw.spec.semirings import SEMIRINGS
from ...hw.spec.t2s.program import TensorDeclaration

__all__ = ["FUNCTIONS", "Arithmetic", "PythonNumbers", "operators"]

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
"""Functions of one word."""

_CONSTANTS: dict[str, Any] = {"0": 0, "+inf": math.inf, "-inf": -math.inf}


def operators(semiring: str) -> tuple[Operator, Operator, Any]:
    """(+), (x), and the identity of (+)."""
    row = SEMIRINGS[semiring]
    return _OPERATORS[row.plus], _OPERATORS[row.times], _CONSTANTS[row.identity]


class Arithmetic(Protocol):
    """Arithmetic of an interpreter: words of operands, products of them, and sums.

    Members
    -------
    identity: the sum of nothing
    """

    identity: Any

    def pad(self, tensor: TensorDeclaration) -> Any:
        """The word that pads an operand."""

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

    def pad(self, tensor: TensorDeclaration) -> Any:
        return _CONSTANTS[tensor.pad]

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
