"""Cycle model of ``RowPacker`` and of ``SumRows``: rows for the element-wise core."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from ..queue import queue_step

__all__ = ["packer_step", "sum_rows_step"]


@inlined
def packer_step(m: Any, takes: bool) -> None:
    """A cycle, with the first product's ``results``; ``takes``: a row would be taken."""
    given = m.results
    queue_step(m.packed, m.pack_pushes != 0, takes)
    count = given.columns if given.valid else 0
    end = (given.base & (m.pes - 1)) + count
    ends = given.base + count == m.rows
    complete = count != 0 and (end >= m.pes or ends)
    m.pack_pushes = complete or m.pack_rest
    m.pack_rest = complete and ends and end > m.pes


@inlined
def sum_rows_step(m: Any, takes: bool) -> None:
    """A cycle; ``takes``: a row would be taken."""
    moves = m.sum_there and takes
    last = m.sum_row == (m.rows - 1) >> m.pes_shift
    if moves:
        m.sum_row += 1
    if moves and last:
        m.sum_there = 0
    elif m.second:
        m.sum_there = 1
    if m.second:
        m.sum_row = 0
