"""Costs of algorithms on graphs (Theorems 5 and 6)."""

from __future__ import annotations

from ..cost import Cost
from ..tensor_unit import multiple
from .dense import tall
from .streaming import stream

__all__ = [
    "closure",
    "component",
    "distances",
    "halvings",
    "squared_component",
    "squaring",
    "squaring_by_cpu",
]


def closure(n: int, s: int, weak: bool = False, semiring: bool = False) -> Cost:
    """``n`` vertices, on numbers, or on words of a ``semiring``, which take no minimum with 1:
    b (b - 1) calls of n - s rows, b = ceil(n / s)."""
    wide = multiple(n, s)
    b = wide // s
    work = stream(max(wide - s, s), s, weak) * (b * (b - 1))
    joined = wide * s * s + 2 * wide * s * (wide - s)
    updated = b * (wide - s) ** 2
    return Cost(
        work.calls,
        work.rows,
        cpu_adds=joined + updated * (1 if semiring else 2),
        cpu_multiplies=joined,
        cpu_moves=wide * wide + wide * (wide - s),
    )


def halvings(diameter: int) -> int:
    """Squares of a connected graph until all vertices are neighbours: ceil(log2 diameter)."""
    return max(0, diameter - 1).bit_length()


def distances(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A connected graph of ``n`` vertices: two products a level. Components add up."""
    return component(n, diameter, s, weak) + Cost(cpu_adds=n * n, cpu_moves=n * n)


def component(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A component of ``n`` vertices; beside it a graph of v takes v^2 adds and moves."""
    level = tall(n, s, weak) * 2 + Cost(cpu_adds=7 * n * n, cpu_multiplies=n * n, cpu_moves=n)
    return level * halvings(diameter) + Cost(cpu_adds=n * n, cpu_moves=2 * n * n)


def squaring(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A connected graph of ``n`` vertices, by squares of lengths: a product a level."""
    return squared_component(n, diameter, s, weak) + Cost(cpu_adds=n * n, cpu_moves=n * n)


def squared_component(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A component of ``n`` vertices; beside it a graph of v takes v^2 adds and moves."""
    level = tall(n, s, weak) + Cost(cpu_adds=n * n)
    return level * halvings(diameter) + Cost(cpu_adds=n * n, cpu_moves=3 * n * n)


def squaring_by_cpu(n: int, diameter: int) -> Cost:
    """A connected graph of ``n`` vertices without a unit: n^3 sums and n^2 (n - 1) minima a level,
    and a look for pairs without a path."""
    levels = halvings(diameter)
    return Cost(
        cpu_adds=n * n * (1 + levels * n), cpu_multiplies=n**3 * levels, cpu_moves=n * n
    )  # fmt: skip
