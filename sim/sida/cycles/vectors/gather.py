"""Cycle model of ``Gather``: operands of sets out of banks, sets in order."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .state import WAYS, Lanes

__all__ = ["gather_ready", "gather_step"]


@inlined
def gather_ready(m: Any, g: Lanes, valid: bool) -> bool:
    """Whether the set at ``m.set`` may enter; counts that it waits for z."""
    goes = m.z_steps + 1 >= m.set.base >> m.step_shift
    m.wait_z = valid and not goes
    return goes and g.put[m.way_in] - g.taken[m.way_in] <= m.lane_mask


@inlined
def _ask(m: Any, g: Lanes, now: int) -> None:
    """Each lane wants its next operand, each bank reads a line."""
    lanes = WAYS << m.pes_shift
    conflicts = 0
    for number in range(lanes):
        lane = (m.first_lane + number) & (lanes - 1)
        way = lane >> m.pes_shift
        asked = g.asked[lane]
        if asked == g.put[way]:
            continue
        place = asked & m.lane_mask
        row = g.rows[way, place, lane & (m.pes - 1)]
        if row >= 0:
            bank = row & m.bank_mask
            line = row >> m.bank_bits
            if g.used[bank] != now:
                g.used[bank] = now
                g.line[bank] = line
            elif g.line[bank] != line:
                conflicts += 1
                continue
        g.asked[lane] = asked + 1
        g.arriving[way, place] += 1
        m.waiting -= 1
    m.conflicts = conflicts


@inlined
def _enter(m: Any, g: Lanes) -> None:
    """The set at ``m.set``."""
    given = m.set
    way = m.way_in
    place = g.put[way] & m.lane_mask
    for leaf in range(m.pes):
        g.rows[way, place, leaf] = given.row[leaf] if given.begin <= leaf < given.end else -1
    g.put[way] += 1
    m.waiting += m.pes
    m.way_in = (way + 1) & (WAYS - 1)
    g.sets[m.newest, 0] = given.base
    g.sets[m.newest, 1] = given.columns
    g.sets[m.newest, 2] = given.end - given.begin
    m.newest = (m.newest + 1) & m.window_mask


@inlined
def gather_step(m: Any, g: Lanes, enters: bool, ready: bool, now: int) -> None:
    """A cycle. ``enters``: the set at ``m.set`` does; ``ready``: what is at the output may go;
    ``now``: another number in every cycle."""
    left = m.gathered
    if ready or not left.valid:
        way = m.way_out
        place = g.taken[way] & m.lane_mask
        left.valid = g.there[way, place] == m.pes
        if left.valid:
            g.there[way, place] = 0
            g.taken[way] += 1
            m.way_out = (way + 1) & (WAYS - 1)
            left.base = g.sets[m.oldest, 0]
            left.columns = g.sets[m.oldest, 1]
            left.elements = g.sets[m.oldest, 2]
            m.oldest = (m.oldest + 1) & m.window_mask
    for way in range(WAYS):
        for place in range(m.lane_mask + 1):
            g.there[way, place] += g.arriving[way, place]
            g.arriving[way, place] = 0
    m.conflicts = 0
    if m.waiting:
        _ask(m, g, now)
    m.first_lane = (m.first_lane + 1) & ((WAYS << m.pes_shift) - 1)
    if enters:
        _enter(m, g)
