"""The order of an element's entries in which those of one row stand apart."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["interleaved"]

Ints = npt.NDArray[np.int64]


def interleaved(groups: Ints, slots: Ints, runs: Ints, apart: int) -> Ints:
    """The place of each entry in its group: entries of a row are at least ``apart`` places from
    each other where that can be without leaving places empty, and in their order.

    The row with the most entries left goes first, among those whose last entry is far enough
    behind; if there is none, that whose last entry is the furthest behind. O(entries log rows).

    Parameters
    ----------
    groups, slots: of each entry: group by group, in each row by row
    runs: of each entry; groups of a run, one behind the other, have the same sums: their rows are
        apart, too
    apart: places from one entry of a row to its next one, at least
    """
    count = len(groups)
    if count == 0 or apart <= 1:
        first = np.ones(count, np.bool_)
        first[1:] = groups[1:] != groups[:-1]
        starts = np.flatnonzero(first)
        return np.arange(count) - np.repeat(starts, np.diff(starts, append=count))
    new_row = np.ones(count, np.bool_)
    new_row[1:] = (groups[1:] != groups[:-1]) | (slots[1:] != slots[:-1])
    row_starts = np.flatnonzero(new_row)
    lengths = np.diff(row_starts, append=count)
    row_groups, row_runs = groups[row_starts], runs[row_starts]
    new_group = np.ones(len(row_starts), np.bool_)
    new_group[1:] = row_groups[1:] != row_groups[:-1]
    bounds = [*np.flatnonzero(new_group).tolist(), len(row_starts)]
    slot_list, length_list, run_list = (
        slots[row_starts].tolist(),
        lengths.tolist(),
        row_runs.tolist(),
    )
    rows = np.empty(count, np.int64)
    places = np.empty(count, np.int64)
    done, run, recent = 0, -1, _Recent(apart)
    for begin, end in pairwise(bounds):
        if run_list[begin] != run:
            run, recent = run_list[begin], _Recent(apart)
        chosen = recent.order(slot_list[begin:end], length_list[begin:end])
        rows[done : done + len(chosen)] = chosen
        rows[done : done + len(chosen)] += begin
        places[done : done + len(chosen)] = np.arange(len(chosen))
        done += len(chosen)
    # The n-th time that a row is chosen is its n-th entry.
    found: Ints = places[np.argsort(rows, kind="stable")]
    return found


class _Recent:
    """Remembers the latest choices, from one group to the next."""

    def __init__(self, apart: int) -> None:
        self._apart = apart
        self._time = 0
        self._last: dict[int, int] = {}
        """Slots with the time at which each may come again."""

    def order(self, slots: list[int], lengths: list[int]) -> list[int]:
        """Orders a group's rows; each number occurs as often as its row is long."""
        time, apart = self._time, self._apart
        rows = len(slots)
        ready, waiting = [], []
        for row, (slot, length) in enumerate(zip(slots, lengths, strict=True)):
            # One number from the entries left and the row: the least is the row with the most left.
            key = row - length * rows
            if self._last.get(slot, 0) > time:
                waiting.append((self._last[slot], key))
            else:
                ready.append(key)
        heapify(ready)
        cooling = deque(sorted(waiting))
        found: list[int] = []
        while ready or cooling:
            while cooling and cooling[0][0] <= time:
                heappush(ready, cooling.popleft()[1])
            key = heappop(ready) if ready else cooling.popleft()[1]
            row = key % rows
            found.append(row)
            if key + rows < 0:
                cooling.append((time + apart, key + rows))
            time += 1
        self._time = time
        begin = max(0, len(found) - apart)
        recent = {slot: when for slot, when in self._last.items() if when > time}
        first = time - len(found)
        for number, row in enumerate(found[begin:], begin):
            recent[slots[row]] = first + number + apart
        self._last = recent
        return found
