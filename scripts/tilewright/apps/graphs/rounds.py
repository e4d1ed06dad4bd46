"""Shortest paths of the fewest edges, from every vertex, as machine code.

In rounds: in each only what the round before has improved is followed, so that rounds are edges.
Where there are no cycles and no edge is longer than 0, rounds would be many; there lengths and
edges are minimised together, vertex by vertex in topological order.

Edges lie vertex by vertex: ``starts``, where those of each begin, and one more; ``ends``, where
they lead; ``lengths``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...sim.timing.compiled import allocating

__all__ = ["NONE", "in_order", "in_rounds"]

Integers = NDArray[np.int64]
NONE = 1 << 62
"""Farther than any path is long."""


@allocating
def in_order(starts: Integers, ends: Integers, lengths: Integers, vertices: int) -> tuple[int, int]:
    """The most edges of a shortest path of the fewest edges, and the longest length."""
    scale = vertices + 1
    keys = np.empty(vertices, np.int64)
    most, largest = 1, 0
    for source in range(vertices):
        keys[source:] = NONE
        keys[source] = 0
        for vertex in range(source, vertices):
            here = keys[vertex]
            if here == NONE:
                continue
            hops = here % scale
            most = max(most, hops)
            largest = max(largest, -((here - hops) // scale))
            for edge in range(starts[vertex], starts[vertex + 1]):
                reached = here + lengths[edge] * scale + 1
                keys[ends[edge]] = min(keys[ends[edge]], reached)
    return most, largest


@allocating
def in_rounds(
    starts: Integers, ends: Integers, lengths: Integers, vertices: int, selects: bool
) -> tuple[int, int]:
    """Rounds until nothing improves, the most over all vertices to start from, and the largest
    magnitude on the way; no rounds if there is no end."""
    best = np.empty(vertices, np.int64)
    followed, following = np.empty(vertices, np.int64), np.empty(vertices, np.int64)
    known = np.empty(vertices, np.int64)
    noted = np.full(vertices, -1, np.int64)
    most, largest, stamp = 1, 0, 0
    for source in range(vertices):
        best[:] = NONE
        best[source] = -1 if selects else 0
        followed[0], known[0], count, rounds = source, best[source], 1, 0
        while count:
            stamp += 1
            improved = 0
            for number in range(count):
                vertex, here = followed[number], known[number]
                for edge in range(starts[vertex], starts[vertex + 1]):
                    length, end = lengths[edge], ends[edge]
                    reached = max(here, length) if selects else here + length
                    if reached < best[end]:
                        best[end] = reached
                        if noted[end] != stamp:
                            noted[end] = stamp
                            following[improved] = end
                            improved += 1
            for number in range(improved):
                known[number] = best[following[number]]
                largest = max(largest, abs(known[number]))
            followed, following = following, followed
            count = improved
            if improved:
                rounds += 1
            if rounds > vertices:
                return 0, 0
        most = max(most, rounds)
    return most, largest
