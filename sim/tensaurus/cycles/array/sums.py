"""Cycle model: slots, partial sums and groups of a level."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = [
    "FIRST",
    "LAST",
    "SECOND",
    "close",
    "complete",
    "has_room",
    "next_slot",
    "offer",
    "push",
    "slots_of",
    "starts_sum",
    "walk",
    "wrapped",
]

FIRST, LAST, SECOND = range(3)


@called
def wrapped(place: int, size: int) -> int:
    """A place in a ring, less than two rounds from its beginning."""
    return place - size if place >= size else place


@called
def slots_of(m: Any, level: int) -> int:
    """Slots of the level's ring."""
    return m.output if level == m.levels - 1 else m.temporary


@called
def starts_sum(row: Any, level: int, closes: bool) -> bool:
    """Whether the next product begins a sum."""
    record = row.levels[level]
    return not (record.open and not closes and record.wrapped)


@called
def has_room(m: Any, row: Any, level: int, closes: bool) -> bool:
    """Whether there is a slot for it."""
    free = row.levels[level].used != slots_of(m, level)
    return free or not starts_sum(row, level, closes)


@called
def next_slot(m: Any, row: Any, level: int, closes: bool) -> int:
    """That slot's number, of those of all levels."""
    record = row.levels[level]
    place = record.tail
    if not starts_sum(row, level, closes):
        place = wrapped(record.origin + record.position, slots_of(m, level))
    return place + level * m.temporary


@called
def complete(row: Any, level: int, last: int) -> bool:
    """Whether the oldest group is."""
    queued = row.levels[level].queued
    found = queued > 0
    for walk in range(last):
        found = found and row.behind[level, walk] < queued
    return found


@called
def _exists(row: Any, level: int, walk: int) -> bool:
    """Whether the group that the walk is at has its pair."""
    partials = row.groups[level, row.pointers[level, walk]].partials
    if walk == SECOND:
        return partials == 4
    return partials >= (3 if walk == LAST else 2)


@called
def _allowed(row: Any, level: int, walk: int, walks: int) -> bool:
    """Whether the pairs that the walk's sum is of are added."""
    behind = row.behind[level, walk]
    if walk != LAST:
        return True
    allowed = row.behind[level, FIRST] < behind
    return allowed and (walks < 3 or row.behind[level, SECOND] < behind)


@called
def offer(m: Any, row: Any, level: int, walk: int, walks: int) -> tuple[bool, int]:
    """Whether the walk's sum may be added now, and the slot that it goes to."""
    if not (row.loaded[level, walk] and _allowed(row, level, walk, walks)):
        return False, 0
    slots = slots_of(m, level)
    group = row.groups[level, row.pointers[level, walk]]
    if walk == FIRST:
        left = wrapped(group.origin + row.levels[level].pair_vector, slots)
        right = wrapped(left + m.vectors[level], slots)
    else:
        left = wrapped(group.origin + (1 if walk == LAST else 2), slots)
        right = group.result
    left += level * m.temporary
    right += level * m.temporary
    for age in range(m.latency - 1):
        if row.sums[age] in (left, right):
            return False, 0
    return True, right


@called
def walk(m: Any, row: Any, level: int, one: int, taken: bool) -> bool:
    """Whether the walk goes on to the next group at the end of the cycle."""
    record = row.levels[level]
    passes = False
    if taken:
        passes = one != FIRST or record.pair_vector + 1 == m.vectors[level]
        if one == FIRST:
            record.pair_vector = 0 if passes else record.pair_vector + 1
        row.loaded[level, one] = 0 if passes else 1
    elif not row.loaded[level, one] and row.behind[level, one] != 0:
        passes = not _exists(row, level, one)
        row.loaded[level, one] = 0 if passes else 1
    return passes


@called
def close(row: Any, level: int, end: int) -> None:
    """The open group is put behind the closed ones; what it is for is written by the caller."""
    record = row.levels[level]
    group = row.groups[level, record.written]
    group.origin = record.origin
    group.result = record.result
    group.partials = record.partials if record.open else 0
    group.length = record.length if record.open else 0
    group.end = end
    record.open = 0


@called
def push(m: Any, row: Any, level: int) -> None:
    """A product is added; a group that ended is closed already."""
    record = row.levels[level]
    begins = not record.open
    if begins:
        record.wrapped = 0
        record.position = 0
        record.vector = 0
        record.length = 0
        record.partials = 0
        record.origin = record.tail
    if not record.wrapped:
        if record.vector == 0:
            record.result = record.tail
            record.partials += 1
        record.length += 1
        record.used += 1
        record.tail = wrapped(record.tail + 1, slots_of(m, level))
    record.position += 1
    if record.position == m.span[level]:
        record.position = 0
        record.wrapped = 1
    record.vector = wrapped(record.vector + 1, m.vectors[level])
    record.open = 1
