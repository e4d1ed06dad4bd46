"""Theorem 6: distances between all vertices, by Seidel's algorithm ("On the all-pairs-shortest-path
problem in unweighted undirected graphs")."""

from __future__ import annotations

import numpy as np

from ..dense.tall import tall
from ..tensor_unit import TensorUnit, add, multiply, subtract
from ..words import Array
from .closure import edges, holds_whole_numbers, undirected, whole_numbers


def components(unit: TensorUnit, adjacency: Array) -> list[Array]:
    """Vertices of each component, ascending: a row of the matrix is read once, a comparison a
    word."""
    n = len(adjacency)
    seen = np.zeros(n, bool)
    found = []
    for first in range(n):
        if seen[first]:
            continue
        members, waiting = [], [first]
        seen[first] = True
        while waiting:
            vertex = waiting.pop()
            members.append(vertex)
            unit.cpu(adds=n)
            new = np.flatnonzero((adjacency[vertex] != 0) & ~seen)
            seen[new] = True
            waiting.extend(new.tolist())
        found.append(np.array(sorted(members)))
    return found


def distances(unit: TensorUnit, adjacency: Array) -> Array:
    """Edges of a shortest path between any two vertices, as float64; inf if there is none.

    Each component by itself: 2 products, by tall calls, a level, ceil(log2 diameter) levels. Words
    are integers, or real floats that hold n^2.

    Parameters
    ----------
    adjacency: of an undirected graph without weights: 0 and 1, symmetric, 0 on the diagonal

    Raises TypeError and ValueError for other words and other graphs.
    """
    if not holds_whole_numbers(unit):
        raise ValueError(
            f"words of distances must be integers or real floats, not {unit.words.name}"
        )
    a = edges(unit, adjacency)
    whole_numbers(unit, "distances", len(a) ** 2)
    undirected(a)
    found = np.full(a.shape, np.inf)
    unit.cpu(moves=found.size)
    for members in components(unit, a):
        part = np.ix_(members, members)
        unit.cpu(moves=2 * len(members) ** 2)
        found[part] = _connected(unit, a[part])
    return found


def _connected(unit: TensorUnit, a: Array) -> Array:
    """Distances in a connected graph: from those in its square, where they are half, rounded up;
    which of two it is, the sum over neighbours says."""
    n = len(a)
    unit.cpu(adds=a.size)
    if np.count_nonzero(a) == n * (n - 1):
        return a
    t = _connected(unit, _squared(unit, a))
    sums = tall(unit, t, a)
    degrees = a.sum(axis=0, dtype=a.dtype)
    odd = sums < multiply(unit, t, degrees)
    unit.cpu(adds=a.size + odd.size)
    return subtract(unit, add(unit, t, t), odd.astype(a.dtype))


def _squared(unit: TensorUnit, a: Array) -> Array:
    """Edges between vertices that are one or two edges apart. The square of the matrix alone has
    none between neighbours without a third beside both, and some from vertices to themselves."""
    paths = add(unit, a, tall(unit, a, a))
    found = np.minimum(paths, unit.words.one)
    np.fill_diagonal(found, unit.words.zero)
    unit.cpu(adds=found.size, moves=len(found))
    return np.asarray(found)
