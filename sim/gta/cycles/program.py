"""Cycle model of the list of commands: read, checked, and put into three queues."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import LIST, Gta

__all__ = ["check_step", "offers_in_vain", "queue_step", "wants"]

_DEPTH = 4
_WAIT, _CHECK, _OFFER = range(3)


@inlined
def wants(g: Gta, kind: int) -> int:
    """For what the first command of a queue waits, a bit for each kind; 0 without one."""
    m = g.m[0]
    found = 0
    if m.valid[kind]:
        command = g.commands[g.order[kind, m.got[kind]]]
        for other in range(3):
            if m.complete[other] < command.needs[other]:
                found |= 1 << other
    return found


@inlined
def check_step(g: Gta) -> None:
    """A cycle of the check, and of what puts beats of the list together to commands before it."""
    m, r = g.m[0], g.b.readers[LIST]
    for kind in range(3):
        m.puts[kind] = 0
    passes = False
    if m.state == _WAIT:
        if m.cut:
            m.state = _CHECK
            m.wait = g.commands[m.number].check - 1
    elif m.state == _CHECK:
        m.wait -= 1
        if m.wait == 0:
            m.state = _OFFER
    else:
        kind = g.commands[m.number].kind
        if m.level[kind] != _DEPTH:
            passes = True
            m.puts[kind] = 1
            m.state = _WAIT
            m.number += 1
            m.left -= 1
    free = m.cut == 0 or passes
    enough = m.words == g.c.words - 1
    wanted = m.asked_left != 0
    r.takes = wanted and (free or not enough)
    moves = r.valid != 0 and r.takes != 0
    if free:
        m.cut = moves and enough
        m.asked_left -= m.cut
    if moves:
        m.words = 0 if enough else m.words + 1


@inlined
def offers_in_vain(g: Gta) -> bool:
    """Whether the next command waits for its queue, or there is none on its way."""
    m = g.m[0]
    if m.state == _OFFER:
        full: bool = m.level[g.commands[m.number].kind] == _DEPTH
        # Beats of the one behind it may still come together.
        return full and (g.b.readers[LIST].valid == 0 or (m.words == g.c.words - 1 and m.cut != 0))
    return m.state == _WAIT and m.cut == 0 and g.b.readers[LIST].valid == 0


@inlined
def queue_step(g: Gta) -> None:
    """A cycle of the queues: what was put in and taken out."""
    m = g.m[0]
    for kind in range(3):
        reads = m.level[kind] != 0 and (m.valid[kind] == 0 or m.pops[kind] != 0)
        m.valid[kind] = reads or (m.valid[kind] != 0 and m.pops[kind] == 0)
        m.got[kind] += m.pops[kind]
        m.level[kind] += m.puts[kind] - int(reads)
        m.passed[kind] += m.puts[kind]
        m.puts[kind] = m.pops[kind] = 0
