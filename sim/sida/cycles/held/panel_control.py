"""Cycle model of ``PanelControl`` and of ``PanelsAhead``: which panel is used, or given up."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .late_sums import sum_idle
from .state import DRAIN, IDLE, RELOAD, USE, WAIT, Held

__all__ = ["ahead_step", "begin_panels", "panel_step"]


@inlined
def begin_panels(m: Any) -> None:
    """A pass begins, at the end of the cycle."""
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
    """A cycle; ``top``: the highest panel of a bank that has no space, -1: all have. Returns
    whether an order is given to the banks, of which panel, and whether it is given up."""
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
