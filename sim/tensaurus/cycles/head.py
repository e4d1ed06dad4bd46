"""Cycle model: the head of a row, which decides what its elements do."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import called, inlined
from .groups import (
    can_close,
    complete,
    has_room,
    next_slot,
    offer,
    push,
    starts_sum,
    step_groups,
    target,
    walk_of,
    wrapped,
)
from .state import DELAYS, FREE


@called
def _serve(m: Any, row: Any, number: int, kind: int, wave: int) -> bool:
    """The row's oldest request whose bank is free, or reads the same vector; whether there were
    requests, and none was served."""
    count = row.asks[kind]
    chosen = FREE
    for age in range(count):
        operation = row.window[row.asked[kind, age]]
        key = m.banks[kind, wave, operation.bank]
        if key in (FREE, operation.key):
            m.banks[kind, wave, operation.bank] = operation.key
            chosen = age
            break
    if chosen != FREE:
        m.grants[kind, wave, number] = row.asked[kind, chosen]
        for age in range(chosen + 1, count):
            row.asked[kind, age - 1] = row.asked[kind, age]
        row.asks[kind] = count - 1
    return count > 0 and chosen == FREE


@called
def arrive(m: Any, half: int) -> None:
    """Delivers the reads of the scratchpads; the complete wave becomes their next reads."""
    for kind in range(2):
        for number in range(m.height):
            if m.access[kind, number] != FREE:
                m.rows[number].window[m.access[kind, number]].there = 1
            m.access[kind, number] = m.grants[kind, half, number]
            m.grants[kind, half, number] = FREE
        for bank in range(m.bank_count):
            m.banks[kind, half, bank] = FREE


@called
def waves(m: Any, half: int) -> None:
    """Every row has its wave."""
    for number in range(m.height):
        row = m.rows[number]
        wave = number - half if number >= half else number - half + m.height
        conflict = False
        for kind in range(2):
            if row.asks[kind]:
                conflict = _serve(m, row, number, kind, wave) or conflict
        if conflict:
            row.conflicts += 1


@called
def carry_out(m: Any, row: Any, now: int) -> None:
    """Let the oldest operation go if its operand is there."""
    row.going = 0
    if row.level == 0:
        return
    operation = row.window[row.oldest]
    if not operation.there:
        row.wait_operands += 1
        return
    row.going = 1
    if operation.active:
        row.products += 1
        m.last_at = now
    if operation.release:
        row.released[(now + 2 + m.multiplier + m.latency) % DELAYS] = 1
        if operation.end:
            row.done[(now + 2 + m.cols) % DELAYS] = 1


@called
def put(m: Any, row: Any) -> None:
    """The operation in the head's register goes into the window."""
    place = row.newest
    operation = row.window[place]
    operation.there = row.source == 0
    operation.bank = row.bank
    operation.key = row.key
    operation.active = row.active
    operation.release = row.release
    operation.end = row.ends
    if row.source != 0:
        kind = row.source - 1
        row.asked[kind, row.asks[kind]] = place
        row.asks[kind] += 1
    row.newest = (place + 1) & (m.window - 1)


NOTHING = FREE
"""No slice is released."""


@called
def _logged(m: Any, row: Any, slot: int) -> bool:
    """Returns whether the slot's sum is incomplete when the next operation would multiply it."""
    found = False
    for age in range(m.sums_kept):
        found = found or row.sums[age] == slot
    for age in range(m.starts_kept):
        found = found or row.starts[age] == slot
    return found


@called
def _place(m: Any, row: Any, operand: int, add: int, source: int) -> None:
    """Sets the place of the operation's operand: its source, bank and key."""
    address = operand // 2 + add
    if source == 2:
        address = address // m.vlen
    row.source = source
    row.bank = address & (m.bank_count - 1)
    row.key = (address - row.bank) * 2 + operand % 2


@called
def _next_fiber_product(m: Any, row: Any, level: int) -> None:
    """Behind a product of a level's fiber."""
    here = row.levels[level]
    here.fiber_vector += 1
    if here.fiber_vector == m.vectors[level]:
        here.fiber_vector = 0
        here.fiber_scalar += 1
        if here.fiber_scalar == m.repeats[level]:
            here.fiber_scalar = 0


@called
def _is_quiet(m: Any, row: Any) -> bool:
    """Returns whether nothing changes until a value arrives, or slots become free."""
    if row.issued:
        return False
    for level in range(m.levels):
        here = row.levels[level]
        if here.queued or here.closes:
            return False
    return True


@inlined
def _front(m: Any, row: Any, first: int) -> tuple[bool, bool, bool, bool, bool]:
    """Returns the events before this cycle's operation: whether the open group is closed with the
    decoder's value, whether the tile's end is passed on, whether the value may be multiplied,
    whether a slice ends, and whether a fiber of the mode before the last two of four does."""
    closing = ending = product = sliced = second = False
    if row.decoded:
        output = m.levels - 1
        front = row.levels[first]
        sliced = row.end or row.value_slice != row.held_slice
        second = output >= 2 and row.fiber_1 != row.held_1
        differs = (output >= 1 and row.fiber_0 != row.held_0) or second
        leaves = front.open and (sliced or differs)
        closing = leaves and can_close(m, row, first)
        ending = row.end and not front.open and can_close(m, row, first)
        product = not row.end and (not leaves or closing)
    return closing, ending, product, sliced, second


@inlined
def _best_sum(m: Any, row: Any, walks: int) -> tuple[bool, int, int, int]:
    """Selects the sum to add. Returns whether any walk has groups before it, and the level, the
    walk and the slot of the first sum on offer, or FREE."""
    output = m.levels - 1
    pending = False
    best_level = best_walk = best_slot = FREE
    for above in range(m.levels):
        level = output - above
        for order in range(walks):
            one = walk_of(order, walks)
            pending = pending or row.behind[level, one] != 0
            if best_level == FREE:
                found, slot = offer(m, row, level, one, walks)
                if found:
                    best_level, best_walk, best_slot = level, one, slot
    return pending, best_level, best_walk, best_slot


@inlined
def _fiber_product(m: Any, row: Any) -> tuple[int, bool, bool]:
    """Products of fibers, the highest level first: the level of one that may be, or FREE; whether
    one waits for its sum, and one for room."""
    output = m.levels - 1
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
        to = target(m, level)
        last = lower.fiber_vector + 1 == m.vectors[level]
        last = last and lower.fiber_scalar + 1 == m.repeats[level]
        fits = has_room(m, row, to, row.levels[to].closes != 0)
        fits = fits and (not last or can_close(m, row, to))
        if not fits:
            blocked = True
        elif chosen == FREE:
            chosen = level
    return chosen, waits, blocked


@inlined
def _count_wait(m: Any, row: Any, product: bool, room: bool, blocked: bool) -> None:
    """A cycle without a product: what for."""
    full = (product and not room) if m.order == 2 else blocked
    if full:
        row.wait_output += 1
    elif product:
        row.wait_sums += 1
    elif not row.decoded:
        row.wait_slots += 1


@inlined
def _log(m: Any, row: Any, start: bool, written: int, reduced: int) -> None:
    """The operation joins the latest ones: the slot that its product is added to, or begins a sum
    in; the slot of the sum that is added beside it, or FREE."""
    for age in range(m.sums_kept - 1, 0, -1):
        row.sums[age] = row.sums[age - 1]
    for age in range(m.starts_kept - 1, 0, -1):
        row.starts[age] = row.starts[age - 1]
    row.starts[0] = written if start else FREE
    row.sums[0] = reduced if reduced != FREE else (FREE if start else written)


@inlined
def _issue(
    m: Any, row: Any, chosen: int, product: bool, released: int, released_end: int
) -> None:  # fmt: skip
    """The operation's register: a product of a level's fiber (``chosen``), of the decoder's value
    (``product``), or none."""
    row.active = chosen != FREE or product
    row.source = 0
    row.release = released != NOTHING
    row.ends = released_end
    if product:
        _place(m, row, row.product, row.vector, 2 if m.scalar_products else 1)
    if chosen != FREE:
        lower = row.levels[chosen]
        group = row.groups[chosen, lower.oldest]
        add = lower.fiber_scalar if m.scalar_fibers else lower.fiber_vector
        _place(m, row, group.fiber_0, add, 2 if m.scalar_fibers else 1)


@inlined
def _next_product(m: Any, row: Any, first: int) -> bool:
    """Behind a product of the decoder's value; whether it was the last one."""
    row.held_slice = row.value_slice
    row.held_0 = row.fiber_0
    row.held_1 = row.fiber_1
    row.vector += 1
    if row.vector == m.vectors[first]:
        row.vector = 0
        return True
    return False


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
        row.levels[level].can = can_close(m, row, level)

    # Select the possible events and the ones that happen.
    closing, ending, product, sliced, second = _front(m, row, first)
    room = product and has_room(m, row, first, closing)
    done = complete(row, output, walks)
    pending, best_level, best_walk, best_slot = _best_sum(m, row, walks)
    fiber, waits, blocked = _fiber_product(m, row)
    overdue = row.age == m.overdue - 1
    works = fiber != FREE or room
    needed = pending or waits or (done and row.drain.level < m.output)
    chosen = fiber if ready and not overdue else FREE
    product_goes = ready and not overdue and fiber == FREE and room
    goes = chosen != FREE or product_goes
    pause = ready and (overdue or (not works and needed))
    issued = goes or pause
    if ready and not goes:
        _count_wait(m, row, product, room, blocked)

    # Write the operation's result, and add a sum beside it.
    start = False
    written = FREE
    to = target(m, chosen) if chosen != FREE else first
    if goes:
        closes = closing if product_goes else row.levels[to].closes != 0
        start = starts_sum(row, to, closes)
        written = next_slot(m, row, to, closes)
    reduces = issued and best_level != FREE and (pause or start)
    if best_level == FREE or reduces:
        row.age = 0
    elif issued and row.age != m.overdue - 1:
        row.age += 1
    if not reduces:
        best_level = best_walk = best_slot = FREE
    if issued:
        _log(m, row, start, written, best_slot)

    # Release what leaves, and fill the window.
    released = NOTHING
    released_end = 0
    if issued and done and row.drain.level < m.output:
        group = row.groups[output, row.levels[output].oldest]
        released, released_end = group.length, group.end
    if ready:
        row.issued = issued
    if issued:
        _issue(m, row, chosen, product_goes, released, released_end)

    step_groups(
        m, row, first, walks, chosen, released != NOTHING,
        closing or ending, sliced, second, best_level, best_walk,
    )  # fmt: skip
    if goes:
        push(m, row, to)
    if chosen != FREE:
        _next_fiber_product(m, row, chosen)
    taken = ending
    if product_goes:
        taken = _next_product(m, row, first) or ending
    row.quiet = _is_quiet(m, row)
    return taken, released, released_end
