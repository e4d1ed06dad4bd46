"""Cycle model of ``BurstWriter``, and of what brings its bursts to the bus: beats to a buffer,
whole bursts out."""

from __future__ import annotations

from ..compiled import inlined
from .state import RING, Managers

__all__ = ["writer_idle", "writer_step"]


@inlined
def writer_idle(b: Managers) -> bool:
    """Whether nothing is inside, and every response is back."""
    w = b.writer[0]
    waits = w.address if b.c.deep else w.addresses
    inside = w.active | w.split | w.stored | w.aw | w.w | waits
    idle: bool = inside == 0 and w.lengths_in == w.lengths_out
    return idle


@inlined
def writer_step(b: Managers, now: int) -> None:
    """A cycle: ``asks`` and ``beat`` are what its neighbour wants, of which the latter is taken if
    ``takes``; ``accepts`` says afterwards whether the request was taken."""
    w = b.writer[0]
    answered = w.answers_out < w.answers_in and b.answers[w.answers_out % RING] <= now
    w.answers_out += answered
    may_issue = w.stored >= w.split_beats and w.addresses != b.c.addresses
    # The arbiter always takes the burst that is there.
    issues = w.split != 0 and may_issue
    if w.aw:
        place = w.lengths_in % RING
        b.lengths[place, 0], b.lengths[place, 1] = w.aw_place, w.aw_beats
    sends = w.lengths_in != w.lengths_out and w.valid != 0
    puts = w.beat != 0 and w.takes != 0
    # Data of issued bursts.
    w.w = sends
    if sends:
        w.w_last = w.sent == b.lengths[w.lengths_out % RING, 1] - 1
        w.sent = 0 if w.w_last else w.sent + 1
        w.lengths_out += w.w_last
    reads = w.level != 0 and (w.valid == 0 or sends)
    w.valid = reads or (w.valid != 0 and not sends)
    w.level += int(puts) - int(reads)
    w.lengths_in += w.aw
    w.stored += int(puts) - (w.split_beats if issues else 0)
    _queue_address(b, issues, answered)
    w.aw = issues
    w.aw_place, w.aw_beats = w.split_place, w.split_beats
    # The splitter.
    moves = may_issue or w.split == 0
    room = b.c.burst - w.place % b.c.burst
    ends = w.left <= room
    beats = w.left if ends else room
    w.accepts = w.active == 0 or (moves and ends)
    if moves:
        w.split, w.split_place, w.split_beats = w.active, w.place, beats
    if w.accepts:
        w.active, w.place, w.left = w.asks, w.ask_place, w.ask_beats
    elif moves:
        w.place += beats
        w.left -= beats
    w.takes = w.level != b.c.buffer


@inlined
def _queue_address(b: Managers, puts: bool, takes: bool) -> None:
    """Addresses that wait for a response; of a memory one more is at its output."""
    w = b.writer[0]
    if not b.c.deep:
        w.addresses += int(puts) - int(takes)
        return
    reads = w.addresses != 0 and (w.address == 0 or takes)
    w.address = reads or (w.address != 0 and not takes)
    w.addresses += int(puts) - int(reads)
