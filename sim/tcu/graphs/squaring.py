"""Distances between all vertices by squares of a matrix of lengths: what Seidel's algorithm is
compared with."""

from __future__ import annotations

import numpy as np

from ..dense.tall import tall
from ..tensor_unit import TensorUnit, require
from ..words import Array
from .closure import edges, undirected
from .distances import components

__all__ = ["squaring"]


def squaring(unit: TensorUnit, adjacency: Array) -> Array:
    """Edges of a shortest path between any two vertices, as float64; inf if there is none.

    Each component by itself: the h-th square has all paths of up to 2^h edges, so that one product,
    by tall calls, a level is enough, ceil(log2 diameter) levels. Words are minplus.

    Parameters
    ----------
    adjacency: of an undirected graph without weights: 0 and 1, symmetric, 0 on the diagonal

    Raises TypeError and ValueError for other words and other graphs.
    """
    require(unit, "squaring", kinds=("minplus",))
    a = undirected(edges(unit, adjacency))
    found = np.full(a.shape, np.inf)
    unit.cpu(moves=found.size)
    for members in components(unit, a):
        part = np.ix_(members, members)
        unit.cpu(moves=2 * len(members) ** 2)
        found[part] = _connected(unit, a[part])
    return found


def _connected(unit: TensorUnit, a: Array) -> Array:
    """Squares of the lengths of edges, until no pair is left without a path."""
    d = np.where(a == 1, 1, np.inf)
    np.fill_diagonal(d, 0)
    unit.cpu(moves=d.size)
    while True:
        unit.cpu(adds=d.size)
        if not np.isinf(d).any():
            return d
        d = tall(unit, d, d)
