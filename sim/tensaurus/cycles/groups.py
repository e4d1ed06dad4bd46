"""Cycle model: the groups of sums of a level, from their end until they are done with."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called, inlined
from .state import FREE

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
    """Returns whether the next product starts a sum."""
    record = row.levels[level]
    return not (record.open and not closes and record.wrapped)


@called
def has_room(m: Any, row: Any, level: int, closes: bool) -> bool:
    """Returns whether a slot is free for the next product."""
    free = row.levels[level].used != slots_of(m, level)
    return free or not starts_sum(row, level, closes)


@called
def next_slot(m: Any, row: Any, level: int, closes: bool) -> int:
    """Returns the number of the next product's slot, counted over all levels."""
    record = row.levels[level]
    place = record.tail
    if not starts_sum(row, level, closes):
        place = wrapped(record.origin + record.position, slots_of(m, level))
    return place + level * m.temporary


@called
def complete(row: Any, level: int, last: int) -> bool:
    """Returns whether the oldest group is complete."""
    queued = row.levels[level].queued
    found = queued > 0
    for walk in range(last):
        found = found and row.behind[level, walk] < queued
    return found


@called
def _exists(row: Any, level: int, walk: int) -> bool:
    """Returns whether the walk's current group has the pair that the walk adds."""
    partials = row.groups[level, row.pointers[level, walk]].partials
    if walk == SECOND:
        return partials == 4
    return partials >= (3 if walk == LAST else 2)


@called
def _allowed(row: Any, level: int, walk: int, walks: int) -> bool:
    """Returns whether the pairs that the walk's sum adds up have been added."""
    behind = row.behind[level, walk]
    if walk != LAST:
        return True
    allowed = row.behind[level, FIRST] < behind
    return allowed and (walks < 3 or row.behind[level, SECOND] < behind)


@called
def offer(m: Any, row: Any, level: int, walk: int, walks: int) -> tuple[bool, int]:
    """Returns whether the walk's sum may be added now, and its destination slot."""
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
    """Steps a walk; returns whether it goes on to the next group at the end of the cycle."""
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


@called
def can_close(m: Any, row: Any, level: int) -> bool:
    """Returns whether a level may accept one more closed group."""
    return row.levels[level].queued < slots_of(m, level) - 1


@called
def target(m: Any, level: int) -> int:
    """The level that the fibers of a temporary level are added to."""
    return 1 if level == 0 and m.order == 4 else m.levels - 1


@called
def walk_of(order: int, walks: int) -> int:
    """The walks over a level's groups one after the other: the last pair first, if there is one,
    which waits for the others."""
    if walks > 1:
        return LAST if order == 0 else (FIRST if order == 1 else SECOND)
    return order


@called
def _done_with(m: Any, row: Any, level: int, walks: int, goes: bool) -> bool:
    """Frees the slots of a temporary level's oldest group; returns whether it is done with."""
    if level == m.levels - 1:
        return False
    here = row.levels[level]
    oldest = row.groups[level, here.oldest]
    there = complete(row, level, walks)
    finish = there and oldest.end and row.levels[target(m, level)].can
    if goes:
        last = here.fiber_vector + 1 == m.vectors[level]
        finish = last and here.fiber_scalar + 1 == m.repeats[level]
        here.fiber_loaded = 0 if finish else 1
    elif not here.fiber_loaded:
        here.fiber_loaded = there and not oldest.end
    if finish:
        here.used -= m.vectors[level] if here.trimmed else oldest.length
    elif there and not here.trimmed and not oldest.end:
        here.used -= oldest.length - m.vectors[level]
    here.trimmed = there and not finish and not oldest.end
    return finish


@called
def _walks(m: Any, row: Any, level: int, walks: int, took: int) -> None:
    """Over the groups that were closed before this cycle."""
    for order in range(walks):
        one = walk_of(order, walks)
        if walk(m, row, level, one, took == one):
            row.pointers[level, one] = wrapped(row.pointers[level, one] + 1, slots_of(m, level))
            row.behind[level, one] -= 1


@called
def _close(
    m: Any, row: Any, level: int, first: int, front: bool, sliced: bool,
    second: bool,
) -> None:  # fmt: skip
    """The level's open group ends, if it does, and with it what is above."""
    here = row.levels[level]
    group = row.groups[level, here.written]
    if level == first and front:
        close(row, level, 0 if here.open else 1)
        group.fiber_0 = row.held_0
        group.fiber_1 = row.held_1
        group.close_0 = sliced or (m.order == 4 and second)
        group.close_1 = sliced
    elif level != first and here.closes:
        close(row, level, here.ends)
        group.fiber_0 = here.fiber
        group.close_0 = here.close
    else:
        return
    here.closes = 0
    here.written = wrapped(here.written + 1, slots_of(m, level))
    here.queued += 1
    for one in range(min(3, m.latency - 1)):
        row.behind[level, one] += 1


@called
def _end(m: Any, row: Any, level: int) -> None:
    """A group is done with: that above it may end with it, in the next cycle."""
    oldest = row.groups[level, row.levels[level].oldest]
    upper = row.levels[target(m, level)]
    if oldest.end or oldest.close_0:
        upper.closes = 1
        upper.fiber = oldest.fiber_1
        upper.close = oldest.close_1
        upper.ends = oldest.end


@inlined
def step_groups(
    m: Any,
    row: Any,
    first: int,
    walks: int,
    chosen: int,
    released: bool,
    closing: bool,
    sliced: bool,
    second: bool,
    best_level: int,
    best_walk: int,
) -> None:
    """Groups are done with, closed and walked over, from the output's level on: what a group ends
    above it is closed a cycle later.

    Parameters
    ----------
    first: the level that products are added to
    walks: over each level's groups
    chosen: the level whose fiber is multiplied in this cycle, or FREE
    released: whether the oldest slice goes to the drain
    closing, sliced, second: whether the first level's group ends, a slice with it, and in a tensor
        of four modes a fiber of the mode before the last two
    best_level, best_walk: where a sum is added in this cycle, or FREE
    """
    output = m.levels - 1
    for above in range(m.levels):
        level = output - above
        finish = _done_with(m, row, level, walks, level == chosen)
        if level == output:
            finish = released
            row.levels[level].used -= row.freed
        _walks(m, row, level, walks, best_walk if level == best_level else FREE)
        _close(m, row, level, first, closing, sliced, second)
        here = row.levels[level]
        if finish:
            if level < output:
                _end(m, row, level)
            here.oldest = wrapped(here.oldest + 1, slots_of(m, level))
            here.queued -= 1
