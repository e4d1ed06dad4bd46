"""Cycles of the cycle model in which nothing changes but what counts down: they are left out."""

from __future__ import annotations

from ...timing.bursts.writer import writer_idle
from ...timing.compiled import inlined
from .array import region_ready
from .commands import EXECUTE, STORE
from .program import offers_in_vain, wants
from .state import LIST, OPERANDS, RING, Gta
from .stores import gather_busy
from .vectors import vector_tail
from .walk import walk_busy

__all__ = ["leave_out", "still_for"]

_SOON = 2
"""A command may be taken so many cycles before its first fold could begin."""


@inlined
def _reader_rests(g: Gta, reader: int) -> bool:
    """Whether nothing moves; what waits at its output nobody takes."""
    r = g.b.readers[reader]
    if r.issued or r.under or (r.level != 0 and r.valid == 0):
        return False
    if r.split and r.reserved <= r.buffer - r.burst:
        return False
    return r.active == 0 or r.split != 0


@inlined
def _loads_rest(g: Gta) -> bool:
    """Whether there is no LOAD, nor the next one's rows to be asked for."""
    return not walk_busy(g, 0) and g.m[0].chunk == 0 and g.b.readers[OPERANDS].valid == 0


@inlined
def _queues_rest(g: Gta) -> bool:
    """Whether no command moves; of EXECUTEs one may wait for its region."""
    m = g.m[0]
    for kind in range(3):
        if m.valid[kind] == 0:
            if m.level[kind]:
                return False
        elif not wants(g, kind):
            if kind != EXECUTE:
                return False
            number = g.order[EXECUTE, m.got[EXECUTE]]
            if region_ready(g, g.commands[number].region, number):
                return False
    return offers_in_vain(g)


@inlined
def still_for(g: Gta, now: int) -> int:
    """For how many cycles from this one on nothing happens at all."""
    m, reads = g.m[0], g.b.managers[0]
    if reads.sends_in != reads.sends_out or reads.held or m.begun == m.ended:
        return 0
    if not g.b.c.flat:
        for channel in range(g.b.c.managers):
            if g.b.dram.count[channel, 0] + g.b.dram.count[channel, 1]:
                return 0
    if not _loads_rest(g) or gather_busy(g) or walk_busy(g, 1) or not writer_idle(g.b):
        return 0
    if m.complete[STORE] != m.sent or g.under[m.ended % RING, 1]:
        return 0
    if not (_reader_rests(g, LIST) and _reader_rests(g, OPERANDS) and _queues_rest(g)):
        return 0
    least = 1 << 40
    for region in range(g.c.regions):
        r = g.regions[region]
        if r.dones_out < r.dones_in:
            least = min(least, g.dones[region, r.dones_out % RING] - now)
        if r.fresh or r.v_waits:
            return 0
        if r.v_left:
            least = min(least, r.v_left - 1)
        elif r.v_tail:
            least = min(least, r.v_tail - 1)
        if r.v_early:
            least = min(least, r.v_early)
        if r.active or r.stay:
            least = min(least, r.wait - _SOON if r.wait > _SOON and not r.active else r.wait)
        elif r.wait:
            least = min(least, r.wait - _SOON if r.wait > _SOON else r.wait)
        elif r.tail:
            least = min(least, r.tail - 1)
    return max(least, 0)


@inlined
def leave_out(g: Gta, cycles: int) -> None:
    """So many cycles are over."""
    for region in range(g.c.regions):
        r = g.regions[region]
        if r.wait:
            r.wait -= cycles
        elif r.tail and not r.active and not r.stay:
            r.tail -= cycles
        if r.v_left:
            r.v_left -= cycles
            r.v_tail = vector_tail(g, region)
        elif r.v_tail:
            r.v_tail -= cycles
        r.v_early = max(0, r.v_early - cycles)
        r.v_near = max(0, r.v_near - cycles)
