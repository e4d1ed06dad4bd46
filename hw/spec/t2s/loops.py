"""Loops, each a digit of an index of the computation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


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


def grouped(loops: Iterable[tuple[int | None, bool]]) -> list[list[int]]:
    """Numbers of loops that are counted together, outermost first; those of one iteration are not
    counted at all.

    Neighbours of constant trip counts have one counter, but for loops of which something is asked.

    Parameters
    ----------
    loops: trip counts, None of those that are no constants; and whether something is asked
    """
    found: list[list[int]] = []
    mergeable = False
    for number, (extent, asked) in enumerate(loops):
        if extent == 1:
            continue
        free = extent is not None and not asked
        if free and mergeable:
            found[-1].append(number)
        else:
            found.append([number])
        mergeable = free
    return found


@dataclass(frozen=True)
class Loop:
    """One loop of a nest.

    Parameters
    ----------
    name: of its variable
    index: of the computation that it walks, as ``i`` of ``ii``
    extent: its trip count; None of an outermost one, which a register has
    step: by how much an iteration moves the index
    reduces: whether results are sums over it
    """

    name: str
    index: str
    extent: int | None
    step: int
    reduces: bool


def last_iteration(loop: Loop) -> Affine:
    """Returns a loop's variable in its last iteration: a number, or ``last_i`` for a loop ``i``
    without extent."""
    return variable(f"last_{loop.name}") if loop.extent is None else Affine((), loop.extent - 1)
