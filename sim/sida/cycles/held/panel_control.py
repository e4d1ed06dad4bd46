"""Cycle model of ``PanelControl`` and of ``LostPanels``: which panel is used, or given up."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .late_sums import sum_idle
from .state import DRAIN, IDLE, RELOAD, USE, WAIT, Held

__all__ = ["begin_panels", "lost_step", "panel_step"]


@inlined
def begin_panels(m: Any) -> None:
    """A pass begins, at the end of the cycle."""
    m.held_state = WAIT
    m.held_done = 0
    m.due = 0
    m.panel_end = m.subtensor
    m.needs = 2 if m.rows > m.subtensor and not m.transposed else 1


@inlined
def lost_step(m: Any, h: Held, gives_up: bool, uses: bool) -> None:
    """A cycle of LostPanels; sets the request. ``uses``: the panel that is due, which was not given
    up, is used."""
    mask = m.panels - 1
    request = m.again
    may_ask = not m.transposed or m.boundary >= m.lost_end
    request.valid = m.panel_walk == m.panels and m.lost_found and not gives_up and may_ask
    request.panel = m.lost_number
    request.columns = m.rows if m.transposed else min(m.lost_end, m.rows)
    asked = request.valid and request.ready
    moves = asked or uses
    if gives_up:
        h.asked[m.giving_panel] = 1
    elif asked:
        h.asked[m.lost_number & mask] = 0
    if m.first and m.second_product:
        m.lost_number = 0
        m.lost_end = 2 * m.subtensor
    elif moves:
        m.lost_number += 1
        m.lost_end += m.subtensor
    m.lost_found = h.asked[m.lost_number & mask]


@inlined
def panel_step(
    m: Any, h: Held, busy: bool, complete: bool, top: int, reloaded: bool
) -> tuple[bool, int, bool]:
    """A cycle; ``top``: the highest panel of a bank that has no space, -1: all have. Returns
    whether an order is given to the banks, of which panel, and whether it is given up."""
    state = m.held_state
    far_end = m.rows if m.transposed else min(m.panel_end + m.subtensor, m.rows)
    columns = m.held_z >= min(m.panel_end, m.rows) and m.first_columns >= far_end
    ready = columns and complete
    lost = m.lost_number != m.due or m.lost_found != 0
    uses = state == WAIT and ready and not busy and not m.giving
    may_give = (state == WAIT and not ready) or state == RELOAD
    gives = may_give and top >= 0 and not busy and not m.giving
    given_up = m.giving and not busy and not m.fetched_lost
    panel = m.due if uses else max(top, 0)
    lost_step(m, h, given_up, uses and not lost)
    next_panel = False
    if state == WAIT:
        if uses:
            m.held_state = RELOAD if lost else USE
    elif state == USE:
        next_panel = not busy
    elif state == RELOAD:
        next_panel = reloaded
    elif state == DRAIN:
        idle = True
        for number in range(m.pes):
            idle = idle and sum_idle(m, h, number)
        if idle:
            m.held_done = 1
            m.held_state = IDLE
    if next_panel:
        last = m.panel_end >= m.rows
        m.held_state = DRAIN if last else WAIT
        m.due += 1
        m.panel_end += m.subtensor
        m.needs += not last if m.transposed else far_end < m.rows
    if gives:
        m.giving = 1
        m.giving_panel = panel
    elif not busy:
        m.giving = 0
    return uses or gives, panel, not uses
