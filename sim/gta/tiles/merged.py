"""Commands of several products in one list, so that their regions work at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace

__all__ = ["merged"]


def merged(products: Iterable[Iterator[int]]) -> Iterator[int]:
    """Advance products, each by what its steps yield, cycles, that which is behind the others
    first: commands of a kind are done in the order of the list, so one that waits for its region
    holds up those behind it. Yields how far the least advanced one has come since the last time.
    """
    waiting = [(0, number, steps) for number, steps in enumerate(products)]
    heapify(waiting)
    before = 0
    while waiting:
        done, number, steps = waiting[0]
        yield done - before
        before = done
        taken = next(steps, None)
        if taken is None:
            heappop(waiting)
        else:
            heapreplace(waiting, (done + taken, number, steps))
