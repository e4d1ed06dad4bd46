"""Cycle model: slots, partial sums and groups of a level."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import Plan, Shape, State

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
]

FIRST, LAST, SECOND = range(3)


@inlined
def slots_of(c: Shape, level: int) -> int:
    """Slots of the level's ring."""
    return c.output if level == c.levels - 1 else c.temporary


@inlined
def starts_sum(s: State, row: int, level: int, closes: bool) -> bool:
    """Whether the next product begins a sum."""
    record = s.levels[row, level]
    return not (record.open and not closes and record.wrapped)


@inlined
def has_room(c: Shape, s: State, row: int, level: int, closes: bool) -> bool:
    """Whether there is a slot for it."""
    free = s.levels[row, level].used != slots_of(c, level)
    return free or not starts_sum(s, row, level, closes)


@inlined
def next_slot(c: Shape, s: State, row: int, level: int, closes: bool) -> int:
    """That slot's number, of those of all levels."""
    record = s.levels[row, level]
    place = record.tail
    if not starts_sum(s, row, level, closes):
        place = (record.base + record.position) % slots_of(c, level)
    return place + level * c.temporary


@inlined
def complete(s: State, row: int, level: int, last: int) -> bool:
    """Whether the oldest group is."""
    queued = s.levels[row, level].queued
    found = queued > 0
    for walk in range(last):
        found = found and s.behind[row, level, walk] < queued
    return found


@inlined
def _exists(s: State, row: int, level: int, walk: int) -> bool:
    """Whether the group that the walk is at has its pair."""
    partials = s.groups[row, level, s.pointers[row, level, walk]].partials
    if walk == SECOND:
        return partials == 4
    return partials >= (3 if walk == LAST else 2)


@inlined
def _allowed(s: State, row: int, level: int, walk: int, walks: int) -> bool:
    """Whether the pairs that the walk's sum is of are added."""
    behind = s.behind[row, level, walk]
    if walk != LAST:
        return True
    allowed = s.behind[row, level, FIRST] < behind
    return allowed and (walks < 3 or s.behind[row, level, SECOND] < behind)


@inlined
def offer(
    c: Shape, s: State, p: Plan, row: int, level: int, walk: int, walks: int
) -> tuple[bool, int]:
    """Whether the walk's sum may be added now, and the slot that it goes to."""
    if not (s.loaded[row, level, walk] and _allowed(s, row, level, walk, walks)):
        return False, 0
    slots = slots_of(c, level)
    group = s.groups[row, level, s.pointers[row, level, walk]]
    if walk == FIRST:
        left = (group.base + s.levels[row, level].pair_vector) % slots
        right = (left + p.vectors[level]) % slots
    else:
        left = (group.base + (1 if walk == LAST else 2)) % slots
        right = group.result
    left += level * c.temporary
    right += level * c.temporary
    for age in range(c.latency - 1):
        if s.sums[row, age] in (left, right):
            return False, 0
    return True, right


@inlined
def walk(s: State, p: Plan, row: int, level: int, one: int, taken: bool) -> bool:
    """Whether the walk goes on to the next group at the end of the cycle."""
    record = s.levels[row, level]
    passes = False
    if taken:
        passes = one != FIRST or record.pair_vector + 1 == p.vectors[level]
        if one == FIRST:
            record.pair_vector = 0 if passes else record.pair_vector + 1
        s.loaded[row, level, one] = 0 if passes else 1
    elif not s.loaded[row, level, one] and s.behind[row, level, one] != 0:
        passes = not _exists(s, row, level, one)
        s.loaded[row, level, one] = 0 if passes else 1
    return passes


@inlined
def close(s: State, row: int, level: int, end: int) -> None:
    """The open group is put behind the closed ones; what it is for is written by the caller."""
    record = s.levels[row, level]
    group = s.groups[row, level, record.written]
    group.base = record.base
    group.result = record.result
    group.partials = record.partials if record.open else 0
    group.size = record.size if record.open else 0
    group.end = end
    record.open = 0


@inlined
def push(c: Shape, s: State, p: Plan, row: int, level: int) -> None:
    """A product is added; a group that ended is closed already."""
    record = s.levels[row, level]
    begins = not record.open
    if begins:
        record.wrapped = 0
        record.position = 0
        record.vector = 0
        record.size = 0
        record.partials = 0
        record.base = record.tail
    if not record.wrapped:
        if record.vector == 0:
            record.result = record.tail
            record.partials += 1
        record.size += 1
        record.used += 1
        record.tail = (record.tail + 1) % slots_of(c, level)
    record.position += 1
    if record.position == p.span[level]:
        record.position = 0
        record.wrapped = 1
    record.vector = (record.vector + 1) % p.vectors[level]
    record.open = 1
