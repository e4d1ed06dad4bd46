"""Closures of a matrix over a semiring, by iterated products: C = C (+) C (x) C.

Source: SIMD2, programming model: Leyzorek's algorithm squares, so that an iteration doubles the
edges of the paths covered; the all-pairs Bellman-Ford algorithm joins one edge more,
D = D (+) A (x) D. With the convergence check both end when nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import IntFormat
from ...sim.numbers.values import decode
from ..common.rounding import Rounded, largest, round_to
from ..common.units.matrix_unit_numbers import Numbers
from ..common.units.matrix_unit_runs import Multiply
from .problems import Problem

__all__ = ["Closure", "Notation", "close", "worst_case"]

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Notation:
    """Encoding of a problem's values in the unit's formats.

    Integer formats have no infinities. There the largest value stands for one, the smallest for
    the other, and finite values may reach up to ``reach`` only: half the range where values are
    added, so that a sum with a stand-in is told from a finite one.
    """

    problem: Problem
    numbers: Numbers

    @property
    def reach(self) -> float:
        """The largest finite magnitude that can be written."""
        element = self.numbers.element
        if not isinstance(element, IntFormat):
            return largest(element)
        return float(element.highest // 2 if self.problem.joining == "sum" else element.highest - 1)

    def operands(self, values: Floats) -> Rounded:
        """Elements of a and b."""
        return self.numbers.operands(self._with_stand_ins(values))

    def accumulators(self, values: Floats) -> Words:
        """Elements of c."""
        return self.numbers.accumulators(self._with_stand_ins(values)).words

    def values(self, words: Words) -> Floats:
        """Decodes results."""
        found = np.asarray(decode(words, self.numbers.result), np.float64)
        if isinstance(self.numbers.element, IntFormat):
            found = np.where(np.abs(found) > self.reach, np.copysign(np.inf, found), found)
        return found

    def rounded(self, values: Floats) -> Floats:
        """Values as the unit's operands hold them."""
        return np.where(np.isinf(values), values, round_to(values, self.numbers.element).values)

    def _with_stand_ins(self, values: Floats) -> Floats:
        element = self.numbers.element
        if not isinstance(element, IntFormat):
            return values
        beyond = np.abs(values) > self.reach
        ends = np.where(values > 0, float(element.highest), float(element.lowest))
        return np.where(beyond, ends, values)


@dataclass(frozen=True, kw_only=True)
class Closure:
    """A closure and how it was reached.

    Parameters
    ----------
    values: float64, (vertices, vertices)
    iterations: products of whole matrices
    settled: whether the last of them changed nothing; None if that was not looked at
    rounded: values that changed when they became operands again, in all iterations but the last
    largest: largest finite magnitude on the way
    """

    values: Floats
    iterations: int
    settled: bool | None
    rounded: int
    largest: float


def worst_case(algorithm: str, vertices: int) -> int:
    """Iterations that cover every path that visits no vertex twice; at least one."""
    edges = max(1, vertices - 1)
    return max(1, (edges - 1).bit_length() if algorithm == "leyzorek" else edges - 1)


def close(
    notation: Notation, start: Floats, multiply: Multiply, algorithm: str, *, check: bool
) -> Closure:
    """The closure of a matrix of direct edges, the empty paths on its diagonal."""
    edges = notation.operands(start)
    current, operand = notation.rounded(start), edges
    highest = _magnitude(current)
    settled: bool | None = None
    changed: list[int] = []
    iterations = 0
    while not settled and iterations < worst_case(algorithm, len(start)):
        iterations += 1
        left = operand if algorithm == "leyzorek" else edges
        c = notation.accumulators(current)
        words = multiply(left.words[np.newaxis], operand.words[np.newaxis], c[np.newaxis])[0]
        found = notation.values(words)
        settled = np.array_equal(found, current) if check else None
        current, operand = found, notation.operands(found)
        highest = max(highest, _magnitude(current))
        changed.append(int(np.count_nonzero(notation.rounded(current) != current)))
    return Closure(
        values=current,
        iterations=iterations,
        settled=settled,
        rounded=sum(changed[:-1]),
        largest=highest,
    )


def _magnitude(values: Floats) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0
