"""Cycle model of ``RowLoader``, of a matrix that is right: panels to slices, and where rows end."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called
from ...timing.parts import gear, ring_step
from .columns import entry_ends, entry_there, spare_step
from .load_state import AGAIN, AHEAD


@called
def slice_offer(m: Any, s: Any, port: Any, address: int, lower: int, upper: int) -> bool:
    """The beginning of a cycle in which elements ``lower`` to ``upper - 1`` are asked for; whether
    the request is taken. Without one ``slice_step`` is enough."""
    skips, waiting = s.skips, s.waiting
    if s.blocks > 1 and skips.level == AHEAD:
        return False
    first = lower >> m.pes_shift
    skipped = first & s.blocks - 1
    before = first - skipped
    if s.taken & 1 == 0 and port.accepts:
        port.asks = 1
        port.address = address + before * s.size
        port.bytes = upper * s.element_bytes - before * s.size
        s.taken |= 1
    if s.taken & 2 == 0 and waiting.level != AHEAD:
        s.counts[waiting.tail] = (upper + m.pes - 1 >> m.pes_shift) - before
        s.puts = 1
        s.taken |= 2
    if s.taken != 3:
        return False
    s.taken = 0
    s.skipped[skips.tail] = skipped
    s.ends = s.blocks > 1
    return True


@called
def slice_valid(s: Any) -> bool:
    """Tells whether a block is at the output."""
    if s.blocks == 1:
        return entry_there(s)
    return bool(entry_there(s) and s.skips.valid != 0 and s.gone == s.skipped[s.skips.at])


@called
def slice_step(m: Any, s: Any, port: Any, ready: bool) -> None:
    """Advances one cycle; ``ready``: the block at the output is accepted."""
    skips, waiting = s.skips, s.waiting
    entry_ready, ends = ready, False
    if s.blocks > 1:
        drops = skips.valid != 0 and s.gone != s.skipped[skips.at]
        ends = slice_valid(s) and ready and entry_ends(s)
        entry_ready = skips.valid != 0 and (ready or drops)
        if ends:
            s.gone = 0
        elif entry_there(s) and drops:
            s.gone += 1
    moves = spare_step(s, entry_ready)
    there = port.line != 0 or s.padding != 0
    count = s.counts[waiting.at]
    took, cut = gear(s, waiting.valid != 0, count, s.size, m.line_bytes, there, moves)
    port.takes = took and not s.padding
    if cut:
        s.padding = 0
    elif port.takes and port.last:
        s.padding = 1
    ring_step(waiting, AHEAD, s.puts != 0, cut)
    ring_step(skips, AHEAD, s.ends != 0, ends)
    s.puts = 0
    s.ends = 0


@called
def window_is_free(m: Any) -> bool:
    """Tells whether the register of a window is free, after :func:`reload_cut_step`."""
    return bool(m.window.valid == 0)


@called
def reload_cut_step(m: Any, blocks: bool, ready: bool) -> bool:
    """Advances one cycle; ``blocks``: a block is available; ``ready``: the cut set is accepted.
    Returns whether the block is taken."""
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
    """Tells whether some element of the set at ``judged`` is wanted."""
    for element in range(part.first, part.first + part.count):
        if columns[element] < part.columns:
            return True
    return False


@called
def _give(m: Any, columns: Any) -> None:
    """Sends the wanted elements of the set at ``judged`` to the output."""
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
    """Advances one cycle; returns whether a set is accepted."""
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


_MOST_PANELS = 2 * AHEAD
_POINTERS, _COLUMNS, _VALUES = range(3)


@called
def _ranges(m: Any) -> None:
    """A panel's elements to the readers of both arrays."""
    found = m.found
    if not found.valid:
        return
    if found.lower < found.upper:
        for number in range(_COLUMNS, _VALUES + 1):
            if not m.ranges_taken >> number & 1:
                address = m.column_numbers if number == _COLUMNS else m.row_values
                part, port = m.slices[number], m.ports[AGAIN + number]
                if slice_offer(m, part, port, address, found.lower, found.upper):
                    m.ranges_taken |= 1 << number
        if m.ranges_taken != 1 << _COLUMNS | 1 << _VALUES:
            return
        m.ranges_taken = 0
    found.valid = 0


@called
def rows_offer(m: Any) -> None:
    """Drives the requests at the start of a cycle, and whether another one fits."""
    m.coming_puts = 0
    if m.panels_inside or m.found.valid:
        _ranges(m)
    asked, coming = m.asked, m.coming
    if asked.valid:
        row = asked.panel << m.step_shift
        rows = min(m.rows - row, m.subtensor)
        if m.panels_taken & 1 == 0 and coming.level != AHEAD:
            panel = m.coming_panels[coming.tail]
            panel.row = row
            panel.rows = rows
            panel.columns = asked.columns
            m.coming_puts = 1
            m.panels_taken |= 1
        if m.panels_taken & 2 == 0:
            part, port = m.slices[_POINTERS], m.ports[AGAIN]
            if slice_offer(m, part, port, m.row_pointers, row, row + rows + 1):
                m.panels_taken |= 2
        if m.panels_taken == 3:
            m.panels_taken = 0
            asked.valid = 0
    m.again.ready = asked.valid == 0 and m.panels_inside != _MOST_PANELS


@called
def _windows(m: Any, pointers: Any, ready: bool) -> bool:
    """A window of rows to the next part, if that is ``ready``; a block of pointers from the reader:
    whether one may come."""
    coming, known, waiting = m.coming, m.known, m.lengths
    part = m.slices[_POINTERS]
    takes = waiting.level != m.lengths_depth and coming.valid != 0 and known.level != AHEAD
    takes = takes and m.found.valid == 0
    came = takes and slice_valid(part)
    ends = came and entry_ends(part)
    if ends:
        panel, into = m.coming_panels[coming.at], m.known_panels[known.tail]
        into.row = panel.row
        into.rows = panel.rows
        into.columns = panel.columns
        into.upper = pointers[panel.row + panel.rows]
        m.found.valid = 1
        m.found.lower = pointers[panel.row]
        m.found.upper = into.upper
    last = False
    leaves = False
    moves = False
    if m.rows_held:
        panel = m.known_panels[known.at]
        left = panel.rows - m.rows_gone
        whole = left >= m.pes
        last = left <= m.pes
        moves = ready and (not whole or waiting.valid != 0)
        leaves = moves and whole
        if moves:
            window = m.window
            window.valid = 1
            window.row = panel.row + m.rows_gone
            window.begin = pointers[window.row]
            window.end = pointers[window.row + min(left, m.pes)]
            window.columns = panel.columns
            window.last = last
            window.some = pointers[panel.row] != panel.upper
            m.rows_held = not last
            m.rows_gone = 0 if last else m.rows_gone + m.pes
    elif known.valid and waiting.valid:
        leaves = True
        m.rows_held = 1
    ring_step(coming, AHEAD, m.coming_puts != 0, ends)
    ring_step(known, AHEAD, ends, moves and last)
    ring_step(waiting, m.lengths_depth, came, leaves)
    return bool(takes)


@called
def rows_step(m: Any, pointers: Any, columns: Any) -> None:
    """Advances one cycle; ``pointers``, ``columns``: of the matrix by rows."""
    comes = m.again.valid != 0 and m.again.ready != 0
    if not m.panels_inside and not comes:
        return
    left = m.reload.valid != 0 and m.reload.ready != 0 and m.reload.last != 0
    part_ready = elements_step(m, columns)
    there = slice_valid(m.slices[_COLUMNS]) and slice_valid(m.slices[_VALUES])
    blocks_ready = reload_cut_step(m, there, part_ready)
    takes = blocks_ready and there
    slice_step(m, m.slices[_COLUMNS], m.ports[AGAIN + _COLUMNS], takes)
    slice_step(m, m.slices[_VALUES], m.ports[AGAIN + _VALUES], takes)
    pointers_ready = _windows(m, pointers, window_is_free(m))
    slice_step(m, m.slices[_POINTERS], m.ports[AGAIN], pointers_ready)
    if comes:
        m.asked.valid = 1
        m.asked.panel = m.again.panel
        m.asked.columns = m.again.columns
    m.panels_inside += comes - left
