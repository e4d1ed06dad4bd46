"""Cycle model of ``RowLoader``: ``RowCut`` and ``RowElements``."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["cut_row", "elements_step", "reload_cut_step", "row_is_free"]


@called
def row_is_free(m: Any) -> bool:
    """Whether the register of a row's length takes another one, behind :func:`reload_cut_step`."""
    return bool(m.row.valid == 0)


@called
def cut_row(m: Any, number: int, begin: int, end: int, columns: int, last: bool) -> None:
    """A row to that register."""
    row = m.row
    row.valid = 1
    row.row = number
    row.first = begin
    row.count = end - begin
    row.columns = columns
    row.last = last


@called
def reload_cut_step(m: Any, blocks: bool, ready: bool) -> bool:
    """A cycle; ``blocks``: a block is there; ``ready``: the part that was cut may go. Whether a
    block is taken if it is."""
    row, part, size = m.row, m.part, m.pes
    drops = m.drops != 0
    moves = drops
    m.drops = 0
    free = ready or not part.valid
    if free:
        part.valid = 0
    if row.valid and free and not drops:
        lane = row.first & size - 1
        long = row.count > size
        end = lane + (size if long else row.count)
        if (m.block_1 or end == lane) and (m.block_2 or end <= size):
            rests = row.last and not long and m.row_rests
            moves = end >= size or (rests and end != 0)
            m.drops = rests and end > size
            part.valid = 1
            part.row = row.row
            part.first = row.first
            part.count = size if long else row.count
            part.columns = row.columns
            part.last = row.last and not long
            row.valid = long
            row.first += size
            row.count -= size
    shifts = moves or not m.block_1
    takes = shifts or not m.block_2
    if shifts:
        m.block_1 = m.block_2
    if takes:
        m.block_2 = blocks
    return takes


@called
def _give(m: Any, columns: Any) -> None:
    """What is wanted of the part at ``judged`` to the output."""
    part, out = m.judged, m.reload
    out.valid = 1
    out.row = part.row
    out.last = part.last
    for lane in range(m.pes):
        out.present[lane] = 0
    for element in range(part.first, part.first + part.count):
        if columns[element] < part.columns:
            lane = element & m.pes - 1
            out.present[lane] = 1
            out.column[lane] = columns[element]


@called
def elements_step(m: Any, columns: Any) -> bool:
    """A cycle; whether a part may come."""
    out, judged, part = m.reload, m.judged, m.part
    free = out.ready != 0 or not out.valid
    if free:
        out.valid = 0
        if judged.valid:
            # They ascend.
            wanted = judged.count > 0 and columns[judged.first] < judged.columns
            if wanted or judged.last:
                _give(m, columns)
    judged_free = free or not judged.valid
    if judged_free:
        judged.valid = part.valid
        judged.row = part.row
        judged.first = part.first
        judged.count = part.count
        judged.columns = part.columns
        judged.last = part.last
    return bool(judged_free)
