"""Parts of cycle models: records that compiled code works on, and the function for a cycle of each.

Words are counted or numbered; the caller keeps what they carry. A record of one of the types here
may lie in another record: the function is then compiled once for all models. No type begins with
the fields of another one: Numba would take it for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import called, inlined

__all__ = [
    "GEAR",
    "PORT",
    "QUEUE",
    "RING_QUEUE",
    "SKID",
    "SPLITTER",
    "fields",
    "gear",
    "gear_is_ready",
    "queue_step",
    "record",
    "ring_step",
    "round_robin",
    "skid_full",
    "skid_put",
    "split",
]


def fields(*names: str) -> list[tuple[Any, ...]]:
    """Numbers of a record."""
    return [(name, np.int64) for name in names]


def record(*names: str) -> Any:
    """A record of numbers."""
    return np.dtype(fields(*names))


QUEUE = record("level", "valid")
"""A ``DeepQueue``: words in its memory, and whether one is at its output."""

RING_QUEUE = record("head", "tail", "at", "level", "valid")
"""A ``DeepQueue`` whose words the caller keeps in a ring of one place more than its depth.
``tail``: the place of the next word; ``at``: that of the word at the output."""

SKID = record(
    *("valid", "source", "place", "note"),
    *("spare", "spare_source", "spare_place", "spare_note"),
)
"""A skid buffer of two words, three numbers each."""

SPLITTER = record("active", "place", "left", "split", "split_place", "split_beats")
"""A splitter of requests: the request, and the burst at the output; in beats."""

GEAR = record("level", "left", "valid", "last")
"""A ``Gearbox``: bytes inside, entries of the request that are left, the entry at the output."""

PORT = record("accepts", "line", "last", "asks", "address", "bytes", "takes")
"""The outputs of a reader of lines in a cycle, then its inputs."""


@inlined
def queue_step(q: Any, puts: bool, takes: bool) -> bool:
    """Does a cycle of a queue; returns whether a word moves to the output.

    ``puts``: a word is put in; ``takes``: the word at the output may leave.
    """
    reads: bool = q.level != 0 and (takes or not q.valid)
    q.valid = reads or (q.valid != 0 and not takes)
    q.level += int(puts) - int(reads)
    return reads


@inlined
def ring_step(q: Any, depth: int, puts: bool, takes: bool) -> None:
    """Does a cycle of a ``RING_QUEUE``; a word that is put in stands at ``tail`` already."""
    if queue_step(q, puts, takes):
        q.at = q.head
        q.head = q.head + 1 if q.head < depth else 0
    if puts:
        q.tail = q.tail + 1 if q.tail < depth else 0


@inlined
def skid_full(s: Any) -> bool:
    """Returns whether a skid buffer accepts no word in this cycle. Moves its second word up if the
    first one has left, that is if ``valid`` was cleared."""
    full: bool = s.spare != 0
    if full and not s.valid:
        s.valid = 1
        s.source, s.place, s.note = s.spare_source, s.spare_place, s.spare_note
        s.spare = 0
    return full


@inlined
def skid_put(s: Any, source: int, place: int, note: int) -> None:
    """Puts a word into a skid buffer that was not full, behind :func:`skid_full`."""
    if s.valid:
        s.spare = 1
        s.spare_source, s.spare_place, s.spare_note = source, place, note
    else:
        s.valid = 1
        s.source, s.place, s.note = source, place, note


@inlined
def round_robin(requests: int, turn: int, count: int) -> int:
    """The next of ``count`` inputs behind ``turn`` that has a request; ``requests``: a bit each, at
    least one is set."""
    number = turn
    while True:
        number = number + 1 if number + 1 < count else 0
        if requests >> number & 1:
            return number


@inlined
def split(s: Any, burst: int, moves: bool, asks: bool, place: int, beats: int) -> bool:
    """Does a cycle of a splitter; returns whether it accepts a request.

    ``burst``: beats of the longest burst, whose multiples no burst crosses; ``moves``: the burst at
    the output may leave; ``asks``: there is a request for ``beats`` from ``place`` on.
    """
    moves = moves or s.split == 0
    room = burst - s.place % burst
    ends = s.left <= room
    part = s.left if ends else room
    accepts: bool = s.active == 0 or (moves and ends)
    if moves:
        s.split, s.split_place, s.split_beats = s.active, s.place, part
    if accepts:
        s.active, s.place, s.left = asks, place, beats
    elif moves:
        s.place += part
        s.left -= part
    return accepts


@called
def gear(
    g: Any, wants: bool, count: int, size: int, line: int, there: bool, ready: bool
) -> tuple[bool, bool]:
    """Does a cycle of a gearbox, a ``GEAR`` or a record that has its fields, which cuts lines into
    entries of another size.

    ``wants``: there is a request, for ``count`` entries of ``size`` bytes; ``there``: a line of
    ``line`` bytes; ``ready``: the entry at the output may leave. Returns whether the line, and the
    request, are taken.
    """
    free = ready or not g.valid
    adds = g.level < size
    total = g.level + line if adds else g.level
    enough = total >= size
    offers = wants and (not adds or (there and enough))
    takes = offers and free
    took = there and wants and adds and (free or not enough)
    left = g.left if g.left else count
    if free:
        g.valid = offers
        g.last = left == 1
    if takes:
        g.left = left - 1
        g.level = 0 if left == 1 else total - size
    elif took:
        g.level = total
    return took, takes and left == 1


@called
def gear_is_ready(g: Any, wants: bool, size: int, line: int, ready: bool) -> bool:
    """Returns whether a line would be accepted in this cycle; called before :func:`gear`."""
    adds = g.level < size
    return wants and adds and (ready or not g.valid or g.level + line < size)
