"""Ways to lay lanes out as a rectangle."""

from __future__ import annotations

__all__ = ["layouts"]


def layouts(lanes: int) -> list[tuple[int, int]]:
    """Rows and columns of all, the widest first: 1 x 4, 2 x 2, 4 x 1."""
    return [(rows, lanes // rows) for rows in range(1, lanes + 1) if lanes % rows == 0]
