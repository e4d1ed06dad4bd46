"""How what a p-GEMM lays over the array covers it."""

from __future__ import annotations

__all__ = ["COVERAGES", "coverage"]

COVERAGES = ("uncover 1", "uncover 2", "uncover 3", "cover 1", "cover 2", "cover 3", "vector")
"""The cases of the paper's section 5; of vector operations there is none."""


def coverage(down: int, across: int, rows: int, cols: int) -> str:
    """The case of ``down`` x ``across`` limbs on ``rows`` x ``cols`` elements.

    *uncover 1*: it exceeds the array neither way, and does not fill it; *cover 1*: it is at least
    as large both ways. Otherwise it exceeds the rows (2) or the columns (3), and is as large as the
    array in all (*cover*), so that parts of it side by side fill it, or is not (*uncover*).
    """
    if down >= rows and across >= cols:
        return "cover 1"
    if down <= rows and across <= cols:
        return "uncover 1"
    name = "cover" if down * across >= rows * cols else "uncover"
    return f"{name} {2 if down > rows else 3}"
