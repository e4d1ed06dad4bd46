"""Cycle model of ``BurstWriter``: beats to a buffer, whole bursts to the bus."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import RING, Gta

__all__ = ["writer_idle", "writer_step"]


@inlined
def writer_idle(g: Gta) -> bool:
    """Whether nothing is inside, and every response is back."""
    m = g.m[0]
    waits = m.address if g.c.deep else m.addresses
    inside = m.aw | waits | m.w | m.w_active | m.w_split | m.stored
    idle: bool = inside == 0 and m.lengths_in == m.lengths_out
    return idle


@inlined
def writer_step(g: Gta, now: int) -> None:
    """A cycle: a row is asked for if ``left`` of STOREs is not 0, a beat offered if ``beat`` is
    not; ``w_accepts`` and ``w_takes`` say whether they are taken."""
    m, w = g.m[0], g.walks[1]
    answered = m.answers_out < m.answers_in and g.answers[m.answers_out % RING] <= now
    m.answers_out += answered
    may_issue = m.stored >= m.w_split_beats and m.addresses != g.c.addresses
    # The address channel always takes what is there.
    issues = m.w_split != 0 and may_issue
    if m.aw:
        place = m.lengths_in % RING
        g.lengths[place, 0], g.lengths[place, 1] = m.aw_place, m.aw_beats
    sends = m.lengths_in != m.lengths_out and m.w_valid != 0
    m.w_takes = m.w_level != g.c.buffer
    puts = m.beat != 0 and m.w_takes != 0
    # Data of issued bursts.
    m.w = sends
    if sends:
        m.w_last = m.w_sent == g.lengths[m.lengths_out % RING, 1] - 1
        m.w_sent = 0 if m.w_last else m.w_sent + 1
        m.lengths_out += m.w_last
    reads = m.w_level != 0 and (m.w_valid == 0 or sends)
    m.w_valid = reads or (m.w_valid != 0 and not sends)
    m.w_level += int(puts) - int(reads)
    m.lengths_in += m.aw
    m.stored += int(puts) - (m.w_split_beats if issues else 0)
    _queue_address(g, issues, answered)
    m.aw = issues
    m.aw_place, m.aw_beats = m.w_split_place, m.w_split_beats
    # The splitter.
    moves = may_issue or m.w_split == 0
    room = g.c.burst - m.w_place % g.c.burst
    ends = m.w_left <= room
    beats = m.w_left if ends else room
    m.w_accepts = m.w_active == 0 or (moves and ends)
    if moves:
        m.w_split, m.w_split_place, m.w_split_beats = m.w_active, m.w_place, beats
    if m.w_accepts:
        m.w_active, m.w_place, m.w_left = w.left != 0, w.place, w.beats
    elif moves:
        m.w_place += beats
        m.w_left -= beats


@inlined
def _queue_address(g: Gta, puts: bool, takes: bool) -> None:
    """Addresses that wait for a response; of a memory one more is at its output."""
    m = g.m[0]
    if not g.c.deep:
        m.addresses += int(puts) - int(takes)
        return
    reads = m.addresses != 0 and (m.address == 0 or takes)
    m.address = reads or (m.address != 0 and not takes)
    m.addresses += int(puts) - int(reads)
