"""Sums of loop variables, each times a constant: the indices of tensors and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Affine", "variable"]


@dataclass(frozen=True)
class Affine:
    """``sum of coefficient * variable + constant``.

    Parameters
    ----------
    terms: names of variables with their coefficients, none of which is 0, by name
    constant: what is added
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        if not isinstance(other, Affine):
            return NotImplemented
        sums = dict(self.terms)
        for name, coefficient in other.terms:
            sums[name] = sums.get(name, 0) + coefficient
        return Affine(_sorted(sums), self.constant + other.constant)

    __radd__ = __add__

    def __sub__(self, other: Affine | int) -> Affine:
        if not isinstance(other, Affine | int):
            return NotImplemented
        return self + (-other if isinstance(other, int) else other.times(-1))

    def __rsub__(self, other: int) -> Affine:
        return self.times(-1) + other

    def __mul__(self, factor: int) -> Affine:
        return self.times(factor) if isinstance(factor, int) else NotImplemented

    __rmul__ = __mul__

    def times(self, factor: int) -> Affine:
        return Affine(
            _sorted({name: factor * by for name, by in self.terms}), factor * self.constant
        )

    def substitute(self, given: Mapping[str, Affine]) -> Affine:
        """The sum with some of its variables replaced."""
        total = Affine((), self.constant)
        for name, coefficient in self.terms:
            total = total + given.get(name, variable(name)).times(coefficient)
        return total

    def __str__(self) -> str:
        terms = [name if by == 1 else f"{by} {name}" for name, by in self.terms]
        if self.constant or not terms:
            terms.append(str(self.constant))
        return " + ".join(terms).replace("+ -", "- ")


def variable(name: str) -> Affine:
    """A loop variable by itself."""
    return Affine(((name, 1),))


def _sorted(coefficients: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, by) for name, by in coefficients.items() if by))
