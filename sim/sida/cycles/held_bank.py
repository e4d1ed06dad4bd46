"""Cycle model of ``HeldBank``: lists of chunks, and who reads them."""

from __future__ import annotations

from typing import Any

from ....hw.spec.sida import CHUNK
from ...timing.compiled import inlined
from ...timing.parts import queue_step, ring_step
from .held_state import Held, Queues


@inlined
def scatter_step(q: Queues, bank: int, ready: bool) -> int:
    """Advances a bank that is not empty by one cycle; ``ready``: its output is accepted. Returns
    the change of the number of full banks."""
    s = q.banks[bank]
    window = q.shares.shape[1]
    free = ready or not s.o_valid
    ends = s.left <= 1
    if free:
        s.o_valid = s.valid
        if s.valid:
            s.o_present = s.left
            s.o_mark = s.mark and ends
            if s.left:
                s.o_panel = q.elements[bank, s.element_out, 0]
                s.o_place = q.elements[bank, s.element_out, 1]
                following = s.element_out + 1
                s.element_out = following if following < q.elements.shape[1] else 0
                s.left -= 1
    goes = free and ends
    if not queue_step(s, False, goes):
        return 0
    s.left = q.shares[bank, s.read_at, 0]
    s.mark = q.shares[bank, s.read_at, 1]
    s.read_at = s.read_at + 1 if s.read_at + 1 < window else 0
    return -1 if s.level == window - 1 else 0


@inlined
def scatter_element(q: Queues, bank: int, panel: int, place: int) -> None:
    """An element of the set that comes, to the queue of a bank, which has room."""
    s = q.banks[bank]
    q.elements[bank, s.element_in, 0] = panel
    q.elements[bank, s.element_in, 1] = place
    following = s.element_in + 1
    s.element_in = following if following < q.elements.shape[1] else 0
    q.fresh[bank] += 1


@inlined
def scatter_shares(q: Queues, mark: bool) -> int:
    """Writes the banks' shares of a set after its elements, and all shares after a mark. Returns
    how many banks have become full."""
    window = q.shares.shape[1]
    full = 0
    for bank in range(len(q.fresh)):
        if mark or q.fresh[bank]:
            s = q.banks[bank]
            q.shares[bank, s.put_at, 0] = q.fresh[bank]
            q.shares[bank, s.put_at, 1] = mark
            q.fresh[bank] = 0
            s.put_at = s.put_at + 1 if s.put_at + 1 < window else 0
            s.level += 1
            full += s.level == window
    return full


@inlined
def look(m: Any, h: Held, number: int) -> bool:
    """Decides the action of a bank's current element; returns whether it waits for a chunk."""
    bank = h.banks[number]
    bank.ends = 0
    bank.adds = 0
    if not bank.looks:
        return False
    lost = h.lost[bank.panel]
    entry = h.entries[bank.panel, number, bank.place & (m.lists - 1)]
    bank.fresh = entry.count & (CHUNK - 1) == 0
    if bank.fresh and not lost and not bank.free.valid and bank.unused == m.chunks:
        return True
    bank.ends = 1
    bank.adds = not lost
    return False


@inlined
def read_step(m: Any, h: Held, number: int, ready: bool) -> int:
    """Advances the reader by one cycle; ``ready``: the bank's output is accepted. Returns the chunk
    that is freed, -1: none."""
    bank = h.banks[number]
    room = ready or not bank.o_valid
    if not bank.busy and not bank.linking:
        if room:
            bank.o_valid = 0
        return -1
    chosen = -1
    for step in range(1, m.lists + 1):
        one = (bank.last + step) & (m.lists - 1)
        cursor = h.cursors[number, one]
        if cursor.left and not (m.reads_drop and cursor.asked and not cursor.linked):
            chosen = one
            break
    cursor = h.cursors[number, max(chosen, 0)]
    left, chunk, offset = cursor.left, cursor.chunk, cursor.offset
    following, linked = cursor.next, cursor.linked
    if bank.linking:
        h.cursors[number, bank.linked].next = bank.follower
        h.cursors[number, bank.linked].linked = 1
        if bank.linked == chosen:
            following = bank.follower
        bank.linking = 0
    moves = chosen >= 0 and (room or m.reads_drop)
    freed = -1
    if moves:
        bank.last = chosen
        seeks = m.reads_drop and left > CHUNK and not linked
        count = CHUNK if m.reads_drop else 1
        more = left > count
        if seeks or (not m.reads_drop and offset == 0):
            bank.linking = 1
            bank.linked = chosen
            bank.follower = h.links[number, chunk]
        cursor.asked = 1
        if not seeks:
            cursor.left = left - count if more else 0
            cursor.offset = offset + 1
            if m.reads_drop or offset == CHUNK - 1 or not more:
                cursor.chunk = following
                cursor.offset = 0
                cursor.asked = 0
                cursor.linked = 0
                freed = chunk
            if not more:
                bank.busy = 0
                for one in range(m.lists):
                    bank.busy |= h.cursors[number, one].left != 0
    if room:
        bank.o_valid = moves and not m.reads_drop
        if bank.o_valid:
            bank.o_place = h.places[number, chunk * CHUNK + offset]
            m.held_total -= 1
    return freed


@inlined
def _add(m: Any, h: Held, number: int) -> None:
    """The element to the end of its list."""
    bank = h.banks[number]
    entry = h.entries[bank.panel, number, bank.place & (m.lists - 1)]
    offset = entry.count & (CHUNK - 1)
    if offset == 0:
        chunk = h.free[number, bank.free.at] if bank.free.valid else bank.unused
        if entry.count:
            h.links[number, entry.tail] = chunk
        else:
            entry.head = chunk
        entry.tail = chunk
    h.places[number, entry.tail * CHUNK + offset] = bank.place
    entry.count += 1
    m.held_total += 1


@inlined
def _load(m: Any, h: Held, number: int) -> None:
    """The lists that were looked at to the reader."""
    bank = h.banks[number]
    for one in range(m.lists):
        entry, cursor = h.entries[m.fetch_panel, number, one], h.cursors[number, one]
        cursor.left = entry.count
        cursor.chunk = entry.head
        cursor.offset = 0
        cursor.asked = 0
        cursor.linked = 0
        if entry.count:
            bank.busy = 1
        if m.reads_drop:
            m.held_total -= entry.count
        entry.count = 0


@inlined
def _free(m: Any, h: Held, number: int, freed: int, taken: bool) -> None:
    """The queue of free chunks."""
    bank = h.banks[number]
    if taken and not bank.free.valid:
        bank.unused += 1
    if freed >= 0:
        h.free[number, bank.free.tail] = freed
    ring_step(bank.free, h.free.shape[1] - 1, freed >= 0, taken)
    bank.used += taken - (freed >= 0)


@inlined
def bank_step(
    m: Any, h: Held, number: int, freed: int, order: bool, panel: int, loses: bool
) -> bool:
    """Advances the lists by one cycle, after :func:`look` and :func:`read_step`. ``order``: a
    panel's lists are processed, and dropped if ``loses``. Returns whether the bank accepts the
    offered element."""
    bank = h.banks[number]
    source = h.late.banks[number]
    top = bank.top
    if bank.adds and bank.newest > top:
        bank.top = bank.newest
    if order and loses and top == panel and top:
        bank.top = top - 1
    taken = bank.adds != 0 and bank.fresh != 0
    if bank.adds:
        _add(m, h, number)
    if m.fetched:
        _load(m, h, number)
    if taken or freed >= 0 or bank.free.level:
        _free(m, h, number, freed, taken)
    stays = bank.is_open and not bank.ends
    room = m.panel_walk == m.panels and not order and not stays
    comes = source.o_valid and source.o_present
    ready = room or not source.o_present
    takes = comes and room
    if takes:
        bank.panel = source.o_panel
        bank.place = source.o_place
        bank.newest = source.o_panel
    bank.is_open = stays or takes
    bank.looks = bank.is_open and not order
    if source.o_valid and ready and source.o_mark:
        bank.steps += 1
    return ready
