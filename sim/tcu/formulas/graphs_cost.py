"""All that algorithms on graphs cost, work of the CPU included (Theorems 5 and 6)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import Cost
from . import dense_cost, graphs
from .graphs import halvings

__all__ = [
    "closure",
    "component",
    "distances",
    "squared_component",
    "squaring",
    "squaring_by_cpu",
]


def closure(n: int, s: int, weak: bool = False, semiring: bool = False) -> Cost:
    """``n`` vertices, on numbers, or on words of a ``semiring``, which take no minimum with 1."""
    work = graphs.closure(n, s, weak)
    wide = multiple(n, s)
    b = wide // s
    joined = wide * s * s + 2 * wide * s * (wide - s)
    updated = b * (wide - s) ** 2
    return Cost(
        work.calls,
        work.rows,
        cpu_adds=joined + updated * (1 if semiring else 2),
        cpu_multiplies=joined,
        cpu_moves=wide * wide + wide * (wide - s),
    )


def distances(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A connected graph of ``n`` vertices."""
    return component(n, diameter, s, weak) + Cost(cpu_adds=n * n, cpu_moves=n * n)


def component(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A component of ``n`` vertices; beside it a graph of v takes v^2 adds and moves."""
    level = dense_cost.tall(n, s, weak) + dense_cost.tall(n, s, weak)
    level += Cost(cpu_adds=7 * n * n, cpu_multiplies=n * n, cpu_moves=n)
    found = Cost(cpu_adds=n * n, cpu_moves=2 * n * n)
    for _ in range(halvings(diameter)):
        found += level
    return found


def squaring(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A connected graph of ``n`` vertices, by squares of lengths: a product a level."""
    return squared_component(n, diameter, s, weak) + Cost(cpu_adds=n * n, cpu_moves=n * n)


def squared_component(n: int, diameter: int, s: int, weak: bool = False) -> Cost:
    """A component of ``n`` vertices; beside it a graph of v takes v^2 adds and moves."""
    found = Cost(cpu_adds=n * n, cpu_moves=3 * n * n)
    for _ in range(halvings(diameter)):
        found += dense_cost.tall(n, s, weak) + Cost(cpu_adds=n * n)
    return found


def squaring_by_cpu(n: int, diameter: int) -> Cost:
    """A connected graph of ``n`` vertices without a unit: n^3 sums and n^2 (n - 1) minima a level,
    and a look for pairs without a path."""
    levels = halvings(diameter)
    return Cost(
        cpu_adds=n * n * (1 + levels * n), cpu_multiplies=n**3 * levels, cpu_moves=n * n
    )  # fmt: skip
