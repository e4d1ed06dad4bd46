"""Parts of an undirected graph that are connected."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array

__all__ = ["components"]


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
