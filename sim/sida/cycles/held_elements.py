"""Cycle model of ``HeldElements``: elements that wait for their row, and are added then."""

from __future__ import annotations

from typing import Any

from ....hw.spec.sida import DELAY
from ...timing.compiled import inlined
from ...timing.parts import ring_step
from .held_bank import (
    DRAIN,
    IDLE,
    PARTS,
    RELOAD,
    USE,
    WAIT,
    Held,
    bank_step,
    look,
    read_step,
    scatter_element,
    scatter_shares,
    scatter_step,
)


@inlined
def _is_late(m: Any, leaf: int) -> bool:
    """Transposed, all are."""
    panel = m.set.row[leaf] >> m.step_shift
    return m.transposed != 0 or panel + DELAY > m.set.base >> m.step_shift


@inlined
def _marks(m: Any) -> bool:
    """Tells whether the set completes a step."""
    complete = m.set.base + m.set.columns >= min(m.boundary, m.rows)
    return complete and m.boundary < m.rows + m.subtensor


@inlined
def held_ready(m: Any) -> bool:
    """Tells whether the set at ``m.set`` may enter."""
    if not m.late_known:
        m.late_known = 1
        m.late_any = 0
        for leaf in range(m.set.begin, m.set.end):
            if _is_late(m, leaf):
                m.late_any = 1
                break
    gives = m.late_any or _marks(m)
    return m.held_state != IDLE and not (gives and m.scatter_full)


@inlined
def put_set(m: Any, h: Held) -> None:
    """The set enters."""
    given = m.set
    marks = _marks(m)
    m.late_known = 0
    if m.late_any:
        for leaf in range(given.begin, given.end):
            if _is_late(m, leaf):
                row, column = given.row[leaf], given.base + given.offset[leaf]
                # The number of its operand, and that of its sum.
                key = column if m.transposed else row
                target = row if m.transposed else column
                panel = key >> m.step_shift
                bank = (target + panel) & (m.pes - 1)
                scatter_element(h.late, bank, panel, target >> m.pes_shift)
    if m.late_any or marks:
        m.scatter_full += scatter_shares(h.late, marks)
    if marks:
        m.boundary += m.subtensor


@inlined
def sum_idle(m: Any, h: Held, number: int) -> bool:
    """Tells whether the pipeline of a bank's sums is empty."""
    bank = h.banks[number]
    return bank.advanced - bank.entered > m.late_stages


@inlined
def sum_step(m: Any, h: Held, number: int, there: bool, place: int) -> bool:
    """A cycle of a bank of w, in which an element is ``there``; returns whether the bank would take
    one of this place."""
    if (number - m.first_base) & (m.pes - 1) < m.first_count:
        # A first value is written.
        return False
    bank = h.banks[number]
    ready = True
    last = len(h.recent[number]) - 1
    for age in range(1, m.add_stages):
        ready = ready and h.recent[number, (bank.advanced - age) & last] != place
    enters = there and ready
    h.recent[number, bank.advanced & last] = place if enters else -1
    if enters:
        bank.entered = bank.advanced
    bank.advanced += 1
    return ready


@inlined
def begin_panels(m: Any) -> None:
    """Starts a pass at the end of the cycle."""
    m.held_state = WAIT
    m.held_done = 0
    m.due = 0
    m.panel_end = m.subtensor
    m.needs = 2 if m.rows > m.subtensor and not m.transposed else 1


@inlined
def ahead_step(
    m: Any, h: Held, complete: bool, given_up: bool, holds: bool, next_panel: bool
) -> None:
    """A cycle of PanelsAhead; sets the request. ``complete``: the elements that it needs are there;
    ``given_up``: the panel at hand is; ``holds``: none is kept; ``next_panel``: the one that is due
    was used."""
    step, mask = m.subtensor, m.panels - 1
    running = m.held_state != IDLE
    request = m.again
    may_ask = running and (not m.transposed or m.boundary >= m.ahead_end)
    request.valid = m.ahead_lost and may_ask and m.ahead * step < m.rows
    request.panel = m.ahead
    request.columns = m.rows if m.transposed else min(m.ahead_end, m.rows)
    asked = request.valid and request.ready
    if asked and not h.asked[m.ahead]:
        h.asked[m.ahead] = m.passes_done + 1
    keeps = m.whole_panels > m.ahead and not m.ahead_lost and not holds
    if given_up:
        h.given_up[m.giving_panel] = 1
    elif next_panel:
        h.given_up[m.due & mask] = 0
    if m.first and m.second_product:
        m.ahead = 0
        m.ahead_end = 2 * step
        m.whole_panels = 0
        m.whole_end = 2 * step
    else:
        if asked or keeps:
            m.ahead += 1
            m.ahead_end += step
        if running and complete and m.whole_panels * step < m.rows:
            m.needs += (m.whole_end - step if m.transposed else m.whole_end) < m.rows
            m.whole_panels += 1
            m.whole_end += step
    m.ahead_lost = h.given_up[m.ahead & mask]


@inlined
def panel_step(
    m: Any, h: Held, busy: bool, complete: bool, top: int, reloaded: bool
) -> tuple[bool, int, bool]:
    """Advances one cycle; ``top``: the highest panel of a bank without space, -1: all have space.
    Returns whether an order is sent to the banks, its panel, and whether the panel is evicted."""
    state = m.held_state
    far_end = m.rows if m.transposed else min(m.panel_end + m.subtensor, m.rows)
    columns = m.held_z >= min(m.panel_end, m.rows) and m.first_columns >= far_end
    decided = m.whole_panels > m.due and m.ahead > m.due
    uses = state == WAIT and columns and decided and not busy and not m.giving
    starved = state != IDLE and top >= 0 and top >= m.ahead
    gives = starved and not busy and not m.giving and not uses
    panel = m.due if uses else max(top, 0)
    next_panel = (state == USE and not busy) or (state == RELOAD and reloaded)
    ends = m.giving and not busy and not next_panel
    lost = m.due_lost != 0
    ahead_step(m, h, complete, ends and not m.fetched_lost, gives or m.giving, next_panel)
    if state == WAIT:
        if uses:
            m.held_state = RELOAD if lost else USE
    elif state == DRAIN:
        idle = True
        for number in range(m.pes):
            idle = idle and sum_idle(m, h, number)
        if idle:
            m.held_done = 1
            m.held_state = IDLE
    if next_panel:
        m.held_state = DRAIN if m.panel_end >= m.rows else WAIT
        m.due += 1
        m.panel_end += m.subtensor
    m.due_lost = h.given_up[0 if m.first and m.second_product else m.due & (m.panels - 1)]
    if gives:
        m.giving = 1
        m.giving_panel = panel
    elif ends:
        m.giving = 0
    return uses or gives, panel, not uses


@inlined
def held_offer(m: Any) -> bool:
    """Drives the outputs known at the start of a cycle; returns whether a row of z is accepted."""
    m.sums_done = m.held_done
    m.most = m.held_most
    m.reload.ready = m.parts.level != PARTS
    return m.held_state != IDLE and m.held_z < m.panel_end + m.subtensor and m.held_z < m.rows


@inlined
def _look(m: Any, h: Held) -> tuple[bool, bool, int, bool]:
    """Collects the state of the banks. Returns whether one is busy, whether the requested steps are
    complete, the highest panel of the first bank without space (-1: none), and whether all
    refetched elements have arrived."""
    busy = m.fetched != 0 or m.panel_walk < m.panels
    complete = reloaded = True
    top = -1
    for number in range(m.pes):
        bank = h.banks[number]
        waits = look(m, h, number)
        if waits and bank.used == m.chunks and top < 0:
            top = bank.top
        complete = complete and bank.steps >= m.needs and (bank.ends or not bank.is_open)
        busy = busy or bank.busy or bank.o_valid
        reloaded = reloaded and bank.ended
    return busy, complete, top, reloaded


@inlined
def _use(m: Any, h: Held, number: int, turn: int) -> int:
    """A bank's element to the sums; returns the chunk that it has free now, -1: none."""
    bank = h.banks[number]
    to = (number - turn) & (m.pes - 1)
    ready = sum_step(m, h, to, bank.o_valid != 0, bank.o_place)
    source = h.again.banks[number]
    if source.level or source.valid:
        m.again_full += scatter_step(h.again, number, False)
    return read_step(m, h, number, ready)


@inlined
def _use_again(m: Any, h: Held, number: int) -> int:
    """Sends a bank's refetched element to the sums; returns as `_use`."""
    bank = h.banks[number]
    source = h.again.banks[number]
    goes = source.o_valid and not bank.ended
    there = goes and source.o_present != 0
    ready = sum_step(m, h, number, there, source.o_place) or not source.o_present
    if goes and ready and source.o_mark:
        bank.ended = 1
    if source.level or source.valid or source.o_valid:
        m.again_full += scatter_step(h.again, number, goes and ready)
    return read_step(m, h, number, False)


@inlined
def _put_part(m: Any, h: Held) -> None:
    """Adds a part of a refetched row to the waiting ones."""
    given, into = m.reload, h.parts[m.parts.tail]
    into.last = given.last
    for leaf in range(m.pes):
        into.present[leaf] = given.present[leaf]
        into.column[leaf] = given.column[leaf]


@inlined
def _put_again(m: Any, h: Held) -> None:
    """Writes the elements of a refetched row to their banks."""
    given = h.parts[m.parts.at]
    for leaf in range(m.pes):
        if given.present[leaf]:
            column = given.column[leaf]
            scatter_element(h.again, column & (m.pes - 1), 0, column >> m.pes_shift)
    m.again_full += scatter_shares(h.again, given.last != 0)


@inlined
def _write_first(m: Any) -> None:
    """Writes the initial partial sums of columns of w to their banks."""
    valid, base, count = m.results.valid, m.results.base, m.results.columns
    if m.transposed:
        valid, base, count = m.empty_valid, m.empty_base, m.pes
        m.empty_base += m.pes
        m.empty_valid = valid and m.empty_base < m.rows
    m.first_count = count if valid else 0
    if valid:
        m.first_base = base
        m.first_columns = base + count


@inlined
def _begin(m: Any, h: Held) -> None:
    """Starts a pass at the end of the cycle."""
    begin_panels(m)
    m.boundary = m.subtensor
    m.held_z = 0
    m.first_columns = 0
    m.first_count = 0
    m.held_most = 0
    m.empty_valid = m.transposed
    m.empty_base = 0
    for number in range(m.pes):
        h.banks[number].steps = 0
        h.banks[number].top = 0


@inlined
def held_step(m: Any, h: Held, enters: bool, takes_z: bool) -> None:
    """A cycle. ``enters``: the set at ``m.set`` does; ``takes_z``: a row of z is taken."""
    busy, complete, top, reloaded = _look(m, h)
    reloads = m.held_state == RELOAD
    puts_again = m.parts.valid != 0 and m.again_full == 0
    turn = m.due & (m.pes - 1)
    order, panel, loses = panel_step(m, h, busy, complete, top, reloaded)
    if m.held_now > m.held_most:
        m.held_most = m.held_now
    m.held_now = m.held_total
    for number in range(m.pes):
        freed = _use_again(m, h, number) if reloads else _use(m, h, number, turn)
        ready = bank_step(m, h, number, freed, order, panel, loses)
        source = h.late.banks[number]
        if source.level or source.valid or source.o_valid:
            m.scatter_full += scatter_step(h.late, number, ready)
        if reloaded:
            h.banks[number].ended = 0
    if enters:
        put_set(m, h)
    if puts_again:
        _put_again(m, h)
    puts = m.reload.valid != 0 and m.reload.ready != 0
    if puts:
        _put_part(m, h)
    ring_step(m.parts, PARTS, puts, puts_again)
    if m.fetched:
        m.fetched_lost = h.lost[m.fetch_panel]
        h.lost[m.fetch_panel] = m.fetch_loses
    m.fetched = order
    if order:
        m.fetch_panel = panel
        m.fetch_loses = loses
        m.reads_drop = loses
    m.panel_walk += m.panel_walk < m.panels
    if takes_z:
        m.held_z += m.pes
    _write_first(m)
    if m.first and m.second_product:
        _begin(m, h)
