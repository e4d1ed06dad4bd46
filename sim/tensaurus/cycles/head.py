"""Cycle model: the head of a row, which decides what its elements do."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import FREE, Plan, Shape, State
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
)

__all__ = ["NOTHING", "head"]

NOTHING = FREE
"""No slice is released."""


@inlined
def _can_close(c: Shape, s: State, row: int, level: int) -> bool:
    return s.levels[row, level].queued < slots_of(c, level) - 1


@inlined
def _target(c: Shape, p: Plan, level: int) -> int:
    """The level that the fibers of a temporary level are added to."""
    return 1 if level == 0 and p.order == 4 else c.levels - 1


@inlined
def _logged(s: State, row: int, slot: int) -> bool:
    """Whether the slot's sum is not complete when the next operation would multiply it."""
    found = False
    for age in range(s.sums.shape[1]):
        found = found or s.sums[row, age] == slot
    for age in range(s.starts.shape[1]):
        found = found or s.starts[row, age] == slot
    return found


@inlined
def _place(c: Shape, s: State, row: int, operand: int, add: int, source: int) -> None:
    """Where the operation's operand is."""
    record = s.rows[row]
    address = operand // 2 + add
    if source == 2:
        address = address // c.vlen
    record.source = source
    record.bank = address % c.banks
    record.key = address // c.banks * 2 + operand % 2


@inlined
def _groups(c: Shape, s: State, p: Plan, row: int, level: int, walks: int, goes: bool) -> bool:
    """Whether a temporary level's oldest group is done with; what it frees."""
    if level == c.levels - 1:
        return False
    here = s.levels[row, level]
    oldest = s.groups[row, level, here.oldest]
    there = complete(s, row, level, walks)
    finish = there and oldest.end and s.levels[row, _target(c, p, level)].can
    if goes:
        last = here.fiber_vector + 1 == p.vectors[level]
        finish = last and here.fiber_scalar + 1 == p.repeats[level]
        here.fiber_loaded = 0 if finish else 1
    elif not here.fiber_loaded:
        here.fiber_loaded = there and not oldest.end
    if finish:
        here.used -= p.vectors[level] if here.trimmed else oldest.size
    elif there and not here.trimmed and not oldest.end:
        here.used -= oldest.size - p.vectors[level]
    here.trimmed = there and not finish and not oldest.end
    return finish


@inlined
def _walks(c: Shape, s: State, p: Plan, row: int, level: int, walks: int, took: int) -> None:
    """Over the groups that were closed before this cycle; the last pair waits for the others."""
    for order in range(walks):
        one = order
        if walks > 1:
            one = LAST if order == 0 else (FIRST if order == 1 else SECOND)
        if walk(s, p, row, level, one, took == one):
            s.pointers[row, level, one] = (s.pointers[row, level, one] + 1) % slots_of(c, level)
            s.behind[row, level, one] -= 1


@inlined
def _close(
    c: Shape, s: State, p: Plan, row: int, level: int, first: int, front: bool, sliced: bool,
    second: bool,
) -> None:  # fmt: skip
    """The level's open group ends, if it does, and with it what is above."""
    here = s.levels[row, level]
    group = s.groups[row, level, here.written]
    if level == first and front:
        record = s.rows[row]
        close(s, row, level, 0 if here.open else 1)
        group.fiber_0 = record.held_0
        group.fiber_1 = record.held_1
        group.close_0 = sliced or (p.order == 4 and second)
        group.close_1 = sliced
    elif level != first and here.closes:
        close(s, row, level, here.ends)
        group.fiber_0 = here.fiber
        group.close_0 = here.close
    else:
        return
    here.closes = 0
    here.written = (here.written + 1) % slots_of(c, level)
    here.queued += 1
    for one in range(min(3, c.latency - 1)):
        s.behind[row, level, one] += 1


@inlined
def _end(c: Shape, s: State, p: Plan, row: int, level: int) -> None:
    """A group is done with: that above it may end with it, in the next cycle."""
    oldest = s.groups[row, level, s.levels[row, level].oldest]
    upper = s.levels[row, _target(c, p, level)]
    if oldest.end or oldest.close_0:
        upper.closes = 1
        upper.fiber = oldest.fiber_1
        upper.close = oldest.close_1
        upper.ends = oldest.end


@inlined
def _next_fiber_product(s: State, p: Plan, row: int, level: int) -> None:
    here = s.levels[row, level]
    here.fiber_vector += 1
    if here.fiber_vector == p.vectors[level]:
        here.fiber_vector = 0
        here.fiber_scalar += 1
        if here.fiber_scalar == p.repeats[level]:
            here.fiber_scalar = 0


@inlined
def head(c: Shape, s: State, p: Plan, row: int) -> tuple[bool, int, int]:
    """A cycle: whether the decoder's value is taken; the size of the slice that is released, if
    one is, and whether it is the end of a tile instead."""
    record = s.rows[row]
    output = c.levels - 1
    walks = min(3, c.latency - 1)
    first = output if p.order == 2 else 0
    ready = not record.issued or record.level < c.window
    for level in range(c.levels):
        s.levels[row, level].can = _can_close(c, s, row, level)

    # What ends before this cycle's operation.
    leaves = closing = ending = product = False
    sliced = second = False
    front = s.levels[row, first]
    if record.decoded:
        sliced = record.end or record.value_slice != record.held_slice
        second = output >= 2 and record.fiber_1 != record.held_1
        differs = (output >= 1 and record.fiber_0 != record.held_0) or second
        leaves = front.open and (sliced or differs)
        closing = leaves and _can_close(c, s, row, first)
        ending = record.end and not front.open and _can_close(c, s, row, first)
        product = not record.end and (not leaves or closing)
    room = product and has_room(c, s, row, first, closing)

    # What is complete, and what may be added.
    done = complete(s, row, output, walks)
    pending = offered = False
    best_level = best_walk = best_slot = FREE
    for above in range(c.levels):
        level = output - above
        for order in range(walks):
            # The last pair first, if there is one.
            one = order
            if walks > 1:
                one = LAST if order == 0 else (FIRST if order == 1 else SECOND)
            pending = pending or s.behind[row, level, one] != 0
            if best_level == FREE:
                found, slot = offer(c, s, p, row, level, one, walks)
                if found:
                    offered = True
                    best_level, best_walk, best_slot = level, one, slot
    overdue = record.age == c.overdue - 1

    # Products of fibers, the highest level first.
    waits = blocked = False
    chosen = FREE
    for above in range(output):
        level = output - 1 - above
        lower = s.levels[row, level]
        if not lower.fiber_loaded:
            continue
        group = s.groups[row, level, lower.oldest]
        slot = (group.result + lower.fiber_vector) % c.temporary + level * c.temporary
        if _logged(s, row, slot):
            waits = True
            continue
        to = _target(c, p, level)
        last = lower.fiber_vector + 1 == p.vectors[level]
        last = last and lower.fiber_scalar + 1 == p.repeats[level]
        fits = has_room(c, s, row, to, s.levels[row, to].closes != 0)
        fits = fits and (not last or _can_close(c, s, row, to))
        if not fits:
            blocked = True
        elif chosen == FREE:
            chosen = level
    works = chosen != FREE or room
    needed = pending or waits or (done and record.queued < c.output)
    fiber_goes = ready and not overdue and chosen != FREE
    product_goes = ready and not overdue and chosen == FREE and room
    pause = ready and (overdue or (not works and needed))
    issued = fiber_goes or product_goes or pause
    if ready and not fiber_goes and not product_goes:
        full = (product and not room) if p.order == 2 else blocked
        if full:
            record.wait_output += 1
        elif product:
            record.wait_sums += 1

    # What the operation writes.
    start = False
    written = FREE
    to = first
    if fiber_goes:
        to = _target(c, p, chosen)
    if fiber_goes or product_goes:
        closes = closing if product_goes else s.levels[row, to].closes != 0
        start = starts_sum(s, row, to, closes)
        written = next_slot(c, s, row, to, closes)
    reduces = issued and offered and (pause or start)
    if not offered or reduces:
        record.age = 0
    elif issued and record.age != c.overdue - 1:
        record.age += 1
    if issued:
        for age in range(s.sums.shape[1] - 1, 0, -1):
            s.sums[row, age] = s.sums[row, age - 1]
        for age in range(s.starts.shape[1] - 1, 0, -1):
            s.starts[row, age] = s.starts[row, age - 1]
        s.starts[row, 0] = written if start else FREE
        s.sums[row, 0] = best_slot if reduces else (FREE if start else written)

    # Groups: done with, closed, walked over.
    released = NOTHING
    released_end = 0
    if issued and done and record.queued < c.output:
        group = s.groups[row, output, s.levels[row, output].oldest]
        released, released_end = group.size, group.end
    if ready:
        record.issued = issued
    if issued:
        record.active = fiber_goes or product_goes
        record.source = 0
        record.release = released != NOTHING
        record.ends = released_end
    if product_goes:
        _place(c, s, row, record.product, record.vector, 2 if p.scalar_products else 1)
    if fiber_goes:
        lower = s.levels[row, chosen]
        group = s.groups[row, chosen, lower.oldest]
        add = lower.fiber_scalar if p.scalar_fibers else lower.fiber_vector
        _place(c, s, row, group.fiber_0, add, 2 if p.scalar_fibers else 1)

    # From the output's level on: what a group ends above it is closed a cycle later.
    for above in range(c.levels):
        level = output - above
        finish = _groups(c, s, p, row, level, walks, fiber_goes and level == chosen)
        if level == output:
            finish = released != NOTHING
            s.levels[row, level].used -= s.freed[row]
        took = best_walk if reduces and level == best_level else FREE
        _walks(c, s, p, row, level, walks, took)
        _close(c, s, p, row, level, first, closing or ending, sliced, second)
        here = s.levels[row, level]
        if finish:
            if level < output:
                _end(c, s, p, row, level)
            here.oldest = (here.oldest + 1) % slots_of(c, level)
            here.queued -= 1
    if fiber_goes or product_goes:
        push(c, s, p, row, to)
    if fiber_goes:
        _next_fiber_product(s, p, row, chosen)
    taken = ending
    if product_goes:
        record.held_slice = record.value_slice
        record.held_0 = record.fiber_0
        record.held_1 = record.fiber_1
        record.vector += 1
        if record.vector == p.vectors[first]:
            record.vector = 0
            taken = True
    return taken, released, released_end
