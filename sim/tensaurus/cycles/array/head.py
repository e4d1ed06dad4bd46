"""Cycle model: the head of a row, which decides what its elements do."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .state import FREE
from .sums import (
    FIRST,
    LAST,
    SECOND,
    close,
    complete,
    has_room,
    next_slot,
    offer,
    push,
    slots_of,
    starts_sum,
    walk,
    wrapped,
)

__all__ = ["NOTHING", "head"]

NOTHING = FREE
"""No slice is released."""


@called
def _can_close(m: Any, row: Any, level: int) -> bool:
    return row.levels[level].queued < slots_of(m, level) - 1


@called
def _target(m: Any, level: int) -> int:
    """The level that the fibers of a temporary level are added to."""
    return 1 if level == 0 and m.order == 4 else m.levels - 1


@called
def _logged(m: Any, row: Any, slot: int) -> bool:
    """Whether the slot's sum is not complete when the next operation would multiply it."""
    found = False
    for age in range(m.sums_kept):
        found = found or row.sums[age] == slot
    for age in range(m.starts_kept):
        found = found or row.starts[age] == slot
    return found


@called
def _place(m: Any, row: Any, operand: int, add: int, source: int) -> None:
    """Where the operation's operand is."""
    address = operand // 2 + add
    if source == 2:
        address = address // m.vlen
    row.source = source
    row.bank = address & (m.bank_count - 1)
    row.key = (address - row.bank) * 2 + operand % 2


@called
def _groups(m: Any, row: Any, level: int, walks: int, goes: bool) -> bool:
    """Whether a temporary level's oldest group is done with; what it frees."""
    if level == m.levels - 1:
        return False
    here = row.levels[level]
    oldest = row.groups[level, here.oldest]
    there = complete(row, level, walks)
    finish = there and oldest.end and row.levels[_target(m, level)].can
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
    """Over the groups that were closed before this cycle; the last pair waits for the others."""
    for order in range(walks):
        one = order
        if walks > 1:
            one = LAST if order == 0 else (FIRST if order == 1 else SECOND)
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
    upper = row.levels[_target(m, level)]
    if oldest.end or oldest.close_0:
        upper.closes = 1
        upper.fiber = oldest.fiber_1
        upper.close = oldest.close_1
        upper.ends = oldest.end


@called
def _next_fiber_product(m: Any, row: Any, level: int) -> None:
    here = row.levels[level]
    here.fiber_vector += 1
    if here.fiber_vector == m.vectors[level]:
        here.fiber_vector = 0
        here.fiber_scalar += 1
        if here.fiber_scalar == m.repeats[level]:
            here.fiber_scalar = 0


@called
def _is_quiet(m: Any, row: Any) -> bool:
    """Whether nothing changes until a value comes, or slots become free."""
    if row.issued:
        return False
    for level in range(m.levels):
        here = row.levels[level]
        if here.queued or here.closes:
            return False
    return True


@called
def head(m: Any, row: Any) -> tuple[bool, int, int]:
    """A cycle: whether the decoder's value is taken; the size of the slice that is released, if
    one is, and whether it is the end of a tile instead."""
    if row.quiet and not row.decoded and not row.freed:
        row.wait_slots += 1
        return False, NOTHING, 0
    output = m.levels - 1
    walks = min(3, m.latency - 1)
    first = output if m.order == 2 else 0
    ready = not row.issued or row.level < m.window
    for level in range(m.levels):
        row.levels[level].can = _can_close(m, row, level)

    # What ends before this cycle's operation.
    leaves = closing = ending = product = False
    sliced = second = False
    front = row.levels[first]
    if row.decoded:
        sliced = row.end or row.value_slice != row.held_slice
        second = output >= 2 and row.fiber_1 != row.held_1
        differs = (output >= 1 and row.fiber_0 != row.held_0) or second
        leaves = front.open and (sliced or differs)
        closing = leaves and _can_close(m, row, first)
        ending = row.end and not front.open and _can_close(m, row, first)
        product = not row.end and (not leaves or closing)
    room = product and has_room(m, row, first, closing)

    # What is complete, and what may be added.
    done = complete(row, output, walks)
    pending = offered = False
    best_level = best_walk = best_slot = FREE
    for above in range(m.levels):
        level = output - above
        for order in range(walks):
            # The last pair first, if there is one.
            one = order
            if walks > 1:
                one = LAST if order == 0 else (FIRST if order == 1 else SECOND)
            pending = pending or row.behind[level, one] != 0
            if best_level == FREE:
                found, slot = offer(m, row, level, one, walks)
                if found:
                    offered = True
                    best_level, best_walk, best_slot = level, one, slot
    overdue = row.age == m.overdue - 1

    # Products of fibers, the highest level first.
    waits = blocked = False
    chosen = FREE
    for above in range(output):
        level = output - 1 - above
        lower = row.levels[level]
        if not lower.fiber_loaded:
            continue
        group = row.groups[level, lower.oldest]
        slot = wrapped(group.result + lower.fiber_vector, m.temporary) + level * m.temporary
        if _logged(m, row, slot):
            waits = True
            continue
        to = _target(m, level)
        last = lower.fiber_vector + 1 == m.vectors[level]
        last = last and lower.fiber_scalar + 1 == m.repeats[level]
        fits = has_room(m, row, to, row.levels[to].closes != 0)
        fits = fits and (not last or _can_close(m, row, to))
        if not fits:
            blocked = True
        elif chosen == FREE:
            chosen = level
    works = chosen != FREE or room
    needed = pending or waits or (done and row.queued < m.output)
    fiber_goes = ready and not overdue and chosen != FREE
    product_goes = ready and not overdue and chosen == FREE and room
    pause = ready and (overdue or (not works and needed))
    issued = fiber_goes or product_goes or pause
    if ready and not fiber_goes and not product_goes:
        full = (product and not room) if m.order == 2 else blocked
        if full:
            row.wait_output += 1
        elif product:
            row.wait_sums += 1
        elif not row.decoded:
            row.wait_slots += 1

    # What the operation writes.
    start = False
    written = FREE
    to = first
    if fiber_goes:
        to = _target(m, chosen)
    if fiber_goes or product_goes:
        closes = closing if product_goes else row.levels[to].closes != 0
        start = starts_sum(row, to, closes)
        written = next_slot(m, row, to, closes)
    reduces = issued and offered and (pause or start)
    if not offered or reduces:
        row.age = 0
    elif issued and row.age != m.overdue - 1:
        row.age += 1
    if issued:
        for age in range(m.sums_kept - 1, 0, -1):
            row.sums[age] = row.sums[age - 1]
        for age in range(m.starts_kept - 1, 0, -1):
            row.starts[age] = row.starts[age - 1]
        row.starts[0] = written if start else FREE
        row.sums[0] = best_slot if reduces else (FREE if start else written)

    # Groups: done with, closed, walked over.
    released = NOTHING
    released_end = 0
    if issued and done and row.queued < m.output:
        group = row.groups[output, row.levels[output].oldest]
        released, released_end = group.length, group.end
    if ready:
        row.issued = issued
    if issued:
        row.active = fiber_goes or product_goes
        row.source = 0
        row.release = released != NOTHING
        row.ends = released_end
    if product_goes:
        _place(m, row, row.product, row.vector, 2 if m.scalar_products else 1)
    if fiber_goes:
        lower = row.levels[chosen]
        group = row.groups[chosen, lower.oldest]
        add = lower.fiber_scalar if m.scalar_fibers else lower.fiber_vector
        _place(m, row, group.fiber_0, add, 2 if m.scalar_fibers else 1)

    # From the output's level on: what a group ends above it is closed a cycle later.
    for above in range(m.levels):
        level = output - above
        finish = _groups(m, row, level, walks, fiber_goes and level == chosen)
        if level == output:
            finish = released != NOTHING
            row.levels[level].used -= row.freed
        took = best_walk if reduces and level == best_level else FREE
        _walks(m, row, level, walks, took)
        _close(m, row, level, first, closing or ending, sliced, second)
        here = row.levels[level]
        if finish:
            if level < output:
                _end(m, row, level)
            here.oldest = wrapped(here.oldest + 1, slots_of(m, level))
            here.queued -= 1
    if fiber_goes or product_goes:
        push(m, row, to)
    if fiber_goes:
        _next_fiber_product(m, row, chosen)
    taken = ending
    if product_goes:
        row.held_slice = row.value_slice
        row.held_0 = row.fiber_0
        row.held_1 = row.fiber_1
        row.vector += 1
        if row.vector == m.vectors[first]:
            row.vector = 0
            taken = True
    row.quiet = _is_quiet(m, row)
    return taken, released, released_end
