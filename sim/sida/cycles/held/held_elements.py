"""Cycle model of ``HeldElements``: elements that wait for their row, and are added then."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from ..load.queues import queue_step
from .held_bank import bank_step, look, read_step
from .late_elements import put_set
from .late_sums import sum_step
from .panel_control import begin_panels, panel_step
from .scatter import scatter_element, scatter_shares, scatter_step
from .state import IDLE, PARTS, RELOAD, Held

__all__ = ["held_offer", "held_step"]


@inlined
def held_offer(m: Any) -> bool:
    """What is known at the beginning of a cycle; returns whether a row of z would be taken."""
    m.sums_done = m.held_done
    m.most = m.held_most
    m.reload.ready = m.parts.level != PARTS
    return m.held_state != IDLE and m.held_z < m.panel_end + m.subtensor and m.held_z < m.rows


@inlined
def _look(m: Any, h: Held) -> tuple[bool, bool, int, bool]:
    """What the banks say: whether one is busy, whether the steps that are asked for are there, the
    highest panel of the first one without space (-1: none), whether all that is read again has
    come."""
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
    """The same with an element that is read again."""
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
    """A part of a row that is read again to those that wait."""
    given, into = m.reload, h.parts[m.parts.tail]
    into.last = given.last
    for leaf in range(m.pes):
        into.present[leaf] = given.present[leaf]
        into.column[leaf] = given.column[leaf]


@inlined
def _put_again(m: Any, h: Held) -> None:
    """Elements of a row that is read again."""
    given = h.parts[m.parts.at]
    for leaf in range(m.pes):
        if given.present[leaf]:
            column = given.column[leaf]
            scatter_element(h.again, column & (m.pes - 1), 0, column >> m.pes_shift)
    m.again_full += scatter_shares(h.again, given.last != 0)


@inlined
def _write_first(m: Any) -> None:
    """What columns of w begin with, to their banks."""
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
    """A pass begins, at the end of the cycle."""
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
    queue_step(m.parts, PARTS, puts_again, puts)
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
