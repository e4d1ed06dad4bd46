"""Finds the sizes from which an algorithm pays: pairs of algorithms, by formulas, on any unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from .cost import Cost
from .formulas import dense, graphs, integers, stencils

__all__ = ["COMPARISONS", "GRID", "Comparison", "UnitModel", "blocks", "crossover", "octaves"]

Counted = Callable[[int, int], Cost]

GRID = 4096
"""Side of the grid that stencils sweep."""


class UnitModel(NamedTuple):
    """A unit as the model has it.

    Parameters
    ----------
    name: in words
    side: s
    latency: l, in the time of a word
    """

    name: str
    side: int
    latency: float


class Comparison(NamedTuple):
    """Compares two algorithms for one problem, by their costs at a size and a unit's side.

    Parameters
    ----------
    new, old: that which is to pay, and that which it is compared with
    size: what the size is
    sizes: that are looked at, ascending, from a unit's side
    """

    new: Counted
    old: Counted
    size: str
    sizes: Callable[[int], Sequence[int]]


def crossover(comparison: Comparison, unit: UnitModel, cpu: float = 1) -> int | None:
    """The smallest size from which ``new`` takes less time than ``old``, for it and all larger ones
    that are looked at; None if it is not so for the largest.

    Parameters
    ----------
    cpu: time of a word of the CPU, in that of a word of the unit; 0 for the unit alone
    """
    found = None
    for size, calls, rows, words in reversed(_differences(comparison, unit.side)):
        if rows * unit.side + calls * unit.latency + words * cpu >= 0:
            break
        found = size
    return found


@cache
def _differences(comparison: Comparison, side: int) -> list[tuple[int, int, int, int]]:
    """Returns for each size how many more calls, rows and words of the CPU ``new`` has."""
    found = []
    for size in comparison.sizes(side):
        new, old = comparison.new(size, side), comparison.old(size, side)
        found.append((size, new.calls - old.calls, new.rows - old.rows, new.cpu - old.cpu))
    return found


def blocks(most: int = 20) -> Callable[[int], Sequence[int]]:
    """Sizes s, 2 s, 4 s, ... that a recursion by halves divides."""
    return lambda side: [side << h for h in range(most + 1)]


def octaves(
    first: Callable[[int], int], steps: int = 8, most: int = 20
) -> Callable[[int], Sequence[int]]:
    """Sizes from ``first`` of a unit's side on, ``steps`` of them from each to its double."""

    def sizes(side: int) -> Sequence[int]:
        unit = first(side)
        every = (
            -(-(unit * (steps + step) << octave) // steps)
            for octave in range(most)
            for step in range(steps)
        )
        return _ascending(every)

    return sizes


def _ascending(sizes: Iterable[int]) -> list[int]:
    return sorted(set(sizes))


def _tall_weak(n: int, s: int) -> Cost:
    return dense.tall(n, s, weak=True)


def _sweeps_of_the_grid(algorithm: Callable[..., Cost]) -> Counted:
    return lambda k, s: algorithm(GRID, k, s)


def _path(algorithm: Callable[..., Cost]) -> Counted:
    """Returns the cost of distances on a path of n vertices, which has the largest diameter."""
    return lambda n, s: algorithm(n, n - 1, s)


COMPARISONS = {
    "strassen / standard": Comparison(
        dense.strassen, dense.standard, "side", blocks()
    ),
    "strassen / tall": Comparison(dense.strassen, dense.tall, "side", blocks()),
    "tall / square calls": Comparison(
        dense.tall, _tall_weak, "side", octaves(lambda s: s, 1, 21)
    ),
    "karatsuba / schoolbook": Comparison(
        integers.karatsuba, integers.schoolbook, "pieces", octaves(lambda s: s * s)
    ),
    "distances / squaring": Comparison(
        _path(graphs.distances), _path(graphs.squaring), "vertices",
        octaves(lambda s: s),
    ),
    "distances / squaring by the CPU": Comparison(
        _path(graphs.distances),
        lambda n, s: graphs.squaring_by_cpu(n, n - 1),
        "vertices",
        octaves(lambda s: 2),
    ),
    "stencil / sweeps": Comparison(
        _sweeps_of_the_grid(stencils.stencil),
        lambda k, s: stencils.sweeps(GRID, k),
        "sweeps",
        octaves(lambda s: 1, 16, GRID.bit_length() - 1),
    ),
}  # fmt: skip
"""Comparisons by name. The size of distances is that of a path, the largest diameter: as many
levels for both. Sizes are those that a recursion divides where it pads to such, and 8 to 16 from
each to its double elsewhere; stencils sweep a grid of ``GRID`` cells a side."""
