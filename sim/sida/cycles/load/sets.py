"""Cycle model of ``ColumnCut`` and ``SetLeaves``, of a matrix that is right."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["cut_step", "forget_sets", "leaves_step"]


@called
def forget_sets(m: Any) -> None:
    """The pulse that a pass begins with."""
    m.base = 0
    m.block = 0
    m.spent = m.elements == 0
    m.stopped = 0
    m.since = 0


@called
def _end(m: Any, pointers: Any, column: int) -> int:
    """Where a column ends; of one that there is not, all."""
    return int(pointers[column + 1]) if column < m.rows else int(m.elements)


@called
def _cut(m: Any, pointers: Any) -> tuple[bool, bool]:
    """The next set; whether all columns of the first window go, and whether the block does."""
    cut, size = m.cut, m.pes
    behind = (m.block + 1) * size
    low = m.base & size - 1
    passes = _end(m, pointers, m.first_window + size - 1) <= behind
    both = passes and m.second_valid != 0 and m.second_window & m.subtensor - 1 != 0
    # The last column that may have elements in the set.
    limit = m.first_window + size - 1
    if both:
        limit += low
    end = _end(m, pointers, limit)
    whole = limit >= m.rows or end == m.elements
    finished = end >= behind or whole
    ends = whole and end <= behind
    column = m.base
    most = min(limit + 1, m.rows)
    while column < most and pointers[column + 1] <= behind:
        column += 1
    cut.valid = 1
    cut.base = m.base
    cut.columns = column - m.base
    cut.final = column == m.rows
    m.stopped = cut.final
    cut.block = m.block
    cut.begin = 0
    cut.end = 0
    if not m.spent:
        cut.begin = m.since
        cut.end = min(end, behind) - m.block * size
    takes = finished and not m.spent
    m.since = 0 if finished else end & size - 1
    if takes and not ends:
        m.block += 1
    if ends:
        m.spent = 1
    m.base = column
    return passes, takes


@called
def cut_step(m: Any, pointers: Any, blocks: bool, ready: bool) -> tuple[bool, bool]:
    """A cycle: whether the block, and the window, that are offered are taken. ``blocks``: a block
    is; ``ready``: what was cut may go."""
    cut = m.cut
    free = ready or not cut.valid
    last = m.rows - m.first_window <= m.pes
    offers = (
        m.first_valid != 0
        and not m.stopped
        and (m.second_valid != 0 or last)
        and (blocks or m.spent != 0)
    )
    passes = takes = False
    if free:
        cut.valid = 0
        if offers:
            passes, takes = _cut(m, pointers)
    shifts = passes or not m.first_valid
    window_ready = shifts or not m.second_valid
    if shifts:
        m.first_valid = m.second_valid
        m.first_window = m.second_window
    if window_ready:
        m.second_valid = m.made_valid
        m.second_window = m.made
    return takes, window_ready


@called
def _give(m: Any, rows: Any, pointers: Any) -> None:
    """The set at ``placed`` to the output."""
    cut, out = m.placed, m.set
    out.base = cut.base
    out.columns = cut.columns
    out.final = cut.final
    out.begin = cut.begin
    out.end = cut.end
    for leaf in range(m.pes):
        out.present[leaf] = 0
    column = cut.base
    first = cut.block * m.pes
    for leaf in range(cut.begin, cut.end):
        while pointers[column + 1] <= first + leaf:
            column += 1
        out.present[leaf] = 1
        out.row[leaf] = rows[first + leaf]
        out.offset[leaf] = column - cut.base


@called
def leaves_step(m: Any, rows: Any, pointers: Any) -> bool:
    """A cycle; whether what is cut may go."""
    out, placed, cut = m.set, m.placed, m.cut
    checked_ready = out.ready != 0 or not out.valid
    if checked_ready:
        out.valid = placed.valid
        if placed.valid:
            _give(m, rows, pointers)
    placed_ready = checked_ready or not placed.valid
    if placed_ready:
        placed.valid = cut.valid
        placed.base = cut.base
        placed.columns = cut.columns
        placed.final = cut.final
        placed.begin = cut.begin
        placed.end = cut.end
        placed.block = cut.block
    return bool(placed_ready)
