"""Cycle model of ``ColumnLoader``: its reads, and the windows of the columns' ends."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called
from ...timing.parts import gear
from .load_state import POINTERS, ROWS, VALUES, WORD_BYTES


@called
def entry_there(e: Any) -> bool:
    """Tells whether an entry is at the output."""
    return e.valid != 0 or e.spare != 0


@called
def entry_ends(e: Any) -> bool:
    """Tells whether the last entry of a request is at the output."""
    return bool(e.spare_last != 0 if e.spare else e.valid != 0 and e.last != 0)


@called
def spare_step(e: Any, ready: bool) -> bool:
    """Advances the skid buffer behind a gearbox by one cycle, before :func:`gear`; ``ready``: the
    entry at the output is accepted. Returns whether an entry may leave the gearbox."""
    moves = not e.spare
    if e.spare:
        e.spare = not ready
    elif e.valid and not ready:
        e.spare = 1
        e.spare_last = e.last
    return bool(moves)


@called
def entries_step(e: Any, port: Any, line_bytes: int, ready: bool) -> bool:
    """Advances one cycle; ``ready``: the entry at the output is accepted. Returns whether the
    request was taken, which is then withdrawn."""
    moves = spare_step(e, ready)
    if not e.asks:
        if moves:
            e.valid = 0
        return False
    wants = e.taken & 2 == 0
    there = port.line != 0 or e.padding != 0
    took, ends = gear(e, wants, e.count, e.size, line_bytes, there, moves)
    port.takes = took and not e.padding
    if e.taken & 1 == 0 and port.accepts:
        port.asks = 1
        port.address = e.address
        port.bytes = e.bytes
        e.taken |= 1
    if ends:
        e.taken |= 2
        e.padding = 0
    elif port.takes and port.last:
        e.padding = 1
    if e.taken == 3:
        e.taken = 0
        e.asks = 0
        return True
    return False


@called
def forget_sets(m: Any) -> None:
    """Clears the sets, by the pulse that starts a pass."""
    m.base = 0
    m.block = 0
    m.spent = m.elements == 0
    m.stopped = 0
    m.since = 0


@called
def _end(m: Any, pointers: Any, column: int) -> int:
    """Returns the end of a column; after the last column, the number of elements."""
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
    """Advances one cycle; returns whether the offered block, and the offered window, are taken.
    ``blocks``: a block is offered; ``ready``: the cut set is accepted."""
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
def _give(m: Any, cut: Any, rows: Any, pointers: Any) -> None:
    """The set at ``placed``, or the one that waits behind the output, to the output."""
    out = m.set
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
def _move(source: Any, sink: Any) -> None:
    """A set, if there is one, from one register to another."""
    sink.valid = source.valid
    sink.base = source.base
    sink.columns = source.columns
    sink.final = source.final
    sink.begin = source.begin
    sink.end = source.end
    sink.block = source.block


@called
def leaves_step(m: Any, rows: Any, pointers: Any) -> bool:
    """Advances one cycle; returns whether the cut set is accepted."""
    out, spare, placed = m.set, m.spare_set, m.placed
    checked_ready = not spare.valid
    placed_ready = checked_ready or not placed.valid
    if out.ready or not out.valid:
        out.valid = spare.valid or placed.valid
        if spare.valid:
            _give(m, spare, rows, pointers)
            spare.valid = 0
        elif placed.valid:
            _give(m, placed, rows, pointers)
    elif checked_ready:
        _move(placed, spare)
    if placed_ready:
        _move(m.cut, placed)
    return bool(placed_ready)


_RUN, _ASK, _LOOK, _KNOWN = range(4)


@called
def columns_idle(m: Any) -> bool:
    """Tells whether the column reader is idle, apart from the bus."""
    return m.columns_busy == 0


@called
def _ask_for_the_last(m: Any) -> None:
    """Requests the last pointer, with those before it in its line."""
    line = m.line_bytes // WORD_BYTES
    place = m.rows & line - 1
    pointers = m.entries[POINTERS]
    pointers.asks = 1
    pointers.address = m.column_pointers + (m.rows - place) * WORD_BYTES
    pointers.bytes = (place + 1) * WORD_BYTES
    pointers.count = (place >> m.pes_shift) + 1


@called
def _ask_for_all(m: Any) -> None:
    pointers, rows, values = m.entries[POINTERS], m.entries[ROWS], m.entries[VALUES]
    pointers.asks = 1
    pointers.address = m.column_pointers
    pointers.bytes = (m.rows + 1) * WORD_BYTES
    pointers.count = (m.rows >> m.pes_shift) + 1
    if not m.elements:
        return
    rows.asks = 1
    rows.address = m.row_numbers
    rows.bytes = m.elements * WORD_BYTES
    values.asks = 1
    values.address = m.column_values
    values.bytes = m.elements * m.value_bytes
    rows.count = m.elements + m.pes - 1 >> m.pes_shift
    values.count = rows.count


@called
def _ends_step(m: Any, given: bool, last: bool, ready: bool) -> bool:
    """Windows of the pointers that are ``given``; whether those are taken. ``ready``: the window
    that is made may go."""
    free = ready or not m.made_valid
    offers = m.holds != 0 and (m.closes != 0 or given)
    takes = not m.closes and (not m.holds or free)
    if free:
        m.made_valid = offers
        m.made = m.column
    if offers and free:
        m.column += m.pes
    if given and takes:
        alone = m.rows & m.pes - 1 == 0
        m.holds = not (last and alone)
        m.closes = last and not alone
    elif offers and free:
        m.holds = 0
        m.closes = 0
    return takes


@called
def columns_step(m: Any, pointers: Any, rows: Any) -> None:
    """Advances the column loader by one cycle, after ``set.ready``; arrays: of the matrix."""
    starts = m.columns_start != 0
    if not m.columns_busy and not starts:
        return
    ends, last = m.entries[POINTERS], m.set.final != 0
    took_final = m.set.valid != 0 and m.set.ready != 0 and last
    cut_ready = leaves_step(m, rows, pointers)
    blocks = entry_there(m.entries[ROWS]) and entry_there(m.entries[VALUES])
    goes, takes_window = cut_step(m, pointers, blocks, cut_ready)
    looks = m.columns_state == _ASK or m.columns_state == _LOOK
    given = entry_there(ends) and not looks
    found = entry_ends(ends)
    takes = _ends_step(m, given, found, takes_window)
    state = m.columns_state
    if state == _ASK and not ends.asks:
        _ask_for_the_last(m)
    asked = entries_step(ends, m.ports[POINTERS], m.line_bytes, takes or looks)
    entries_step(m.entries[ROWS], m.ports[ROWS], m.line_bytes, goes)
    entries_step(m.entries[VALUES], m.ports[VALUES], m.line_bytes, goes)
    if state == _ASK and asked:
        m.columns_state = _LOOK
    elif state == _LOOK and found:
        m.elements = pointers[m.rows]
        m.columns_state = _KNOWN
    elif state == _KNOWN:
        _ask_for_all(m)
        forget_sets(m)
        m.columns_state = _RUN
    if took_final:
        m.columns_busy = 0
    if starts:
        m.columns_busy = 1
        m.columns_state = _ASK
        m.holds = 0
        m.closes = 0
        m.column = 0
        m.made_valid = 0
        m.first_valid = 0
        m.second_valid = 0
