"""Cycle model of ``RowLoader``: ``RowCut`` and ``RowElements``."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["elements_step", "reload_cut_step", "window_is_free"]


@called
def window_is_free(m: Any) -> bool:
    """Whether the register of a window takes another one, behind :func:`reload_cut_step`."""
    return bool(m.window.valid == 0)


@called
def reload_cut_step(m: Any, blocks: bool, ready: bool) -> bool:
    """A cycle; ``blocks``: a block is there; ``ready``: the set that was cut may go. Whether the
    block is taken."""
    window, part, size = m.window, m.part, m.pes
    free = ready or not part.valid
    if free:
        part.valid = 0
    if not (window.valid and free):
        return False
    block = m.cut_block if m.cut_counts else window.begin >> m.pes_shift
    following = block + 1
    since = 0 if m.cut_within else window.begin & size - 1
    last_block, last_leaf = window.end >> m.pes_shift, window.end & size - 1
    whole = last_block == following and last_leaf == 0
    ends_window = last_block == block or whole
    rests = window.last and window.some and last_block == block and last_leaf != 0
    filled = last_block != block or last_leaf > since
    ends_block = (filled and (not ends_window or whole)) or rests
    if (filled or rests) and not blocks:
        return False
    part.valid = 1
    part.row = window.row
    part.first = block * size + since
    part.count = min(window.end, following * size) - part.first if filled else 0
    part.columns = window.columns
    part.last = window.last and ends_window
    window.valid = not ends_window
    m.cut_counts = not part.last
    m.cut_block = following if ends_block else block
    m.cut_within = not ends_window
    return bool(ends_block)


@called
def _wanted(m: Any, part: Any, columns: Any) -> bool:
    """Whether some element of the set at ``judged`` is."""
    for element in range(part.first, part.first + part.count):
        if columns[element] < part.columns:
            return True
    return False


@called
def _give(m: Any, columns: Any) -> None:
    """What is wanted of the set at ``judged`` to the output."""
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
    """A cycle; whether a set may come."""
    out, judged, part = m.reload, m.judged, m.part
    free = out.ready != 0 or not out.valid
    if free:
        out.valid = 0
        if judged.valid and (judged.last or _wanted(m, judged, columns)):
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
