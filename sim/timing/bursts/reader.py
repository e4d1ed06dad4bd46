"""Cycle model of ``BurstReader``: requests to bursts, beats to a buffer."""

from __future__ import annotations

from ..compiled import inlined
from .state import Managers

__all__ = ["reader_idle", "reader_step"]


@inlined
def reader_idle(b: Managers, reader: int) -> bool:
    """Whether nothing is inside, and nothing owed by the bus."""
    r = b.readers[reader]
    idle: bool = (r.active | r.split | r.reserved | r.issued | r.under) == 0
    return idle


@inlined
def reader_step(b: Managers, reader: int) -> None:
    """A cycle: ``asks`` and ``takes`` are what its neighbours want, ``comes`` and ``granted`` what
    the memory and the arbiter have said; ``accepts`` says afterwards whether the request was
    taken."""
    r = b.readers[reader]
    comes = r.comes != 0
    taken = r.valid != 0 and r.takes != 0
    may_issue = r.reserved <= r.buffer - r.burst and r.under != r.outstanding
    free = r.granted != 0 or r.issued == 0
    r.comes = r.granted = 0
    splits = may_issue and free
    issues = r.split != 0 and splits
    if free:
        r.issued = r.split != 0 and may_issue
        r.issued_place, r.issued_beats = r.split_place, r.split_beats
    r.under += int(issues) - int(comes and r.comes_last != 0)
    r.reserved += (r.split_beats if issues else 0) - int(taken)
    # The splitter.
    moves = splits or r.split == 0
    room = r.burst - r.place % r.burst
    ends = r.left <= room
    beats = r.left if ends else room
    r.accepts = r.active == 0 or (moves and ends)
    if moves:
        r.split, r.split_place, r.split_beats = r.active, r.place, beats
    if r.accepts:
        r.active, r.place, r.left = r.asks, r.ask_place, r.ask_beats
    elif moves:
        r.place += beats
        r.left -= beats
    # The buffer.
    reads = r.level != 0 and (r.valid == 0 or taken)
    r.valid = reads or (r.valid != 0 and not taken)
    r.level += int(comes) - int(reads)
