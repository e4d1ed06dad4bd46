"""Sweeps by the definition, one by one, in any arithmetic that Python's operators have."""

from __future__ import annotations

from typing import Any

import numpy as np


def swept(grid: Any, weights: Any, steps: int, boundary: str) -> Any:
    """Cell by cell, neighbours by their places; an open plane is a dictionary of its cells."""
    rows, columns = grid.shape
    cells = {(i, j): grid[i, j] for i in range(rows) for j in range(columns)}
    taps = [
        (x, y, weights[1 + x, 1 + y])
        for x in (-1, 0, 1)
        for y in (-1, 0, 1)
        if weights[1 + x, 1 + y] != 0
    ]
    for _ in range(steps):
        after: dict[tuple[int, int], Any] = {}
        for (i, j), value in cells.items():
            for x, y, tap in taps:
                # A cell that reads the one (x, y) away receives what that one adds to the opposite
                # side.
                place = (i - x, j - y)
                if boundary == "periodic":
                    place = (place[0] % rows, place[1] % columns)
                after[place] = after.get(place, 0) + tap * value
        cells = after
    found = np.zeros(grid.shape, object)
    for i in range(rows):
        for j in range(columns):
            found[i, j] = cells.get((i, j), 0)
    return found
