"""Cycle model: the cache of B in each channel, between the crossbar and the memory.

The order within a cycle is that in which one part sees another's registers as they were when the
cycle began: a part comes before those whose output it looks at, except for handshakes without a
register between them.
"""

from __future__ import annotations

from ...timing.compiled import inlined
from .cache_contents import MISSES
from .state import Shape, State

__all__ = ["cache_arrives", "cache_step"]

_DEEP, _READER = 3, 2
"""Cycles from a lookup to the output of the queue of entries, through the reader of blocks."""


@inlined
def _find(s: State, channel: int, place: int, block: int) -> int:
    """Returns the age of a block in its set, or -1."""
    for age in range(s.kept_block.shape[2]):
        if s.kept_block[channel, place, age] == block:
            return age
    return -1


@inlined
def _look_up(c: Shape, s: State, channel: int, now: int) -> int:
    """Looks up the read in the crossbar's register; returns whether its block was there."""
    record, port = s.caches[channel], s.cache_port[channel]
    block = port[0, 0] // c.interleave
    place = ((block * c.channels + channel) >> c.cache_skipped) % c.cache_sets
    age = _find(s, channel, place, block)
    miss = age < 0
    if miss:
        age = s.kept_block.shape[2] - 1
    way = s.kept_way[channel, place, age]
    if miss:
        record.misses += 1
        record.evictions += s.kept_block[channel, place, age] >= 0
        s.kept_phase[channel, place, way] ^= 1
        queued = s.cache_misses[channel, record.miss_in % MISSES]
        queued[0] = now + 2
        queued[1] = block
        record.miss_in += 1
    elif s.kept_phase[channel, place, way] == s.kept_done[channel, place, way]:
        record.hits += 1
    else:
        record.merged += 1
    for step in range(age):
        older = age - step
        s.kept_block[channel, place, older] = s.kept_block[channel, place, older - 1]
        s.kept_way[channel, place, older] = s.kept_way[channel, place, older - 1]
    s.kept_block[channel, place, 0] = block
    s.kept_way[channel, place, 0] = way
    entry = s.cache_entries[channel, record.entry_in % s.cache_entries.shape[1]]
    entry[0] = now + _DEEP
    entry[1] = place * s.kept_block.shape[2] + way
    entry[2] = miss
    entry[3] = s.kept_phase[channel, place, way]
    entry[4] = port[0, 1]
    entry[5] = port[0, 2]
    record.entry_in += 1
    return not miss


@inlined
def _leave_port(s: State, channel: int) -> None:
    port = s.cache_port[channel]
    for field in range(5):
        port[0, field] = port[1, field]
    s.caches[channel].port_count -= 1


@inlined
def _fill_is_free(c: Shape, s: State, channel: int, now: int) -> bool:
    """Returns whether the reader of blocks has a slot."""
    record = s.caches[channel]
    used = record.issued - record.head
    if used < c.outstanding:
        return True
    slot, last = record.head % c.slots, c.burst_beats - 1
    if used > c.outstanding or record.taken != last or s.cache_arrived[channel, slot] <= last:
        return False
    return s.cache_times[channel, slot * c.burst_beats + last] <= now


@inlined
def cache_arrives(c: Shape, s: State, channel: int, slot: int, now: int) -> None:
    """A beat of a block comes from memory."""
    arrived = s.cache_arrived[channel, slot]
    s.cache_times[channel, slot * c.burst_beats + arrived] = now + _READER
    s.cache_arrived[channel, slot] = arrived + 1


@inlined
def _send(s: State, channel: int) -> None:
    """A beat of the first read of the window into the output."""
    record = s.caches[channel]
    if record.window == 0 or record.out:
        return
    first = s.cache_window[channel]
    record.out = 1
    record.out_tag = first[0, 1]
    record.sent += 1
    if record.sent == first[0, 0]:
        record.sent = 0
        record.window -= 1
        first[0, 0] = first[1, 0]
        first[0, 1] = first[1, 1]


@inlined
def _fill(c: Shape, s: State, channel: int, held: int, now: int) -> None:
    """A read from the queue into the window, or a beat of its block. ``held``: reads that were in
    the window."""
    record = s.caches[channel]
    entry = s.cache_entries[channel, record.entry_out % s.cache_entries.shape[1]]
    if record.entry_out == record.entry_in or entry[0] > now:
        return
    line = entry[1]
    if entry[2]:
        blocked = (held > 0 and record.line_0 == line) or (held > 1 and record.line_1 == line)
        slot, last = record.head % c.slots, record.taken == c.burst_beats - 1
        if blocked or (last and held == 2) or record.head == record.issued:
            return
        if s.cache_arrived[channel, slot] <= record.taken:
            return
        if s.cache_times[channel, slot * c.burst_beats + record.taken] > now:
            return
        record.taken += 1
        if not last:
            return
        record.taken = 0
        record.head += 1
        ways = s.kept_done.shape[2]
        s.kept_done[channel, line // ways, line % ways] = entry[3]
    elif held == 2:
        return
    place = s.cache_window[channel, record.window]
    place[0] = entry[4]
    place[1] = entry[5]
    record.window += 1
    record.line_1 = record.line_0
    record.line_0 = line
    record.entry_out += 1
    record.waiting -= 1


@inlined
def cache_step(c: Shape, s: State, channel: int, passing: bool, now: int) -> int:
    """A cycle of a channel's cache, up to its registers before the bus.

    ``passing``: whether a beat that is not the cache's is at the channel's port. Returns whether it
    is taken.
    """
    record, port, bus = s.caches[channel], s.cache_port[channel], s.cache_bus[channel]
    record.port_full = record.port_count == 2
    bus_full = record.bus_count == 2
    visible = record.port_count > 0 and port[0, 3] <= now
    cached = visible and port[0, 4] != 0
    # The lookup, before a fill is done.
    # What is written during the walk is not dropped.
    ready = record.ready_at <= now and (record.drops_at != now or record.ready_at == now)
    hit_before, looks = record.hit_before, False
    record.hit_before = 0
    if cached and ready and record.reserved < MISSES and record.waiting < c.cache_waiting:
        looks = True
        record.hit_before = _look_up(c, s, channel, now)
        record.waiting += 1
    free = _fill_is_free(c, s, channel, now)
    # Beats.
    takes = 0
    chosen = passing and not (record.out != 0 and record.passed != 0)
    if record.stays:
        chosen = record.passed != 0
    some = passing or record.out != 0
    if some:
        record.passed = chosen
    record.stays = some and record.spare != 0
    record.offered = record.spare
    record.offered_tag = record.spare_tag
    if some and not record.spare:
        record.offered = 1
        if chosen:
            takes = 1
        else:
            record.offered_tag = record.out_tag
            record.out = 0
    held = record.window
    _send(s, channel)
    _fill(c, s, channel, held, now)
    # Requests: in turn to the bus, then the next block.
    offers = visible and not cached
    if not bus_full and (offers or record.asks):
        fill = record.asks != 0 and (not offers or record.bus_turn == 0)
        place = bus[record.bus_count]
        record.bus_turn = fill
        record.bus_count += 1
        place[3] = now + 1
        if fill:
            place[0] = record.asked_block * c.interleave
            place[1] = c.burst_beats
            place[2] = c.fill_tag + record.asked_slot * c.tag_step
            record.asks = 0
        else:
            for field in range(3):
                place[field] = port[0, field]
            _leave_port(s, channel)
    asked = 0
    queued = s.cache_misses[channel, record.miss_out % MISSES]
    if record.miss_out < record.miss_in and queued[0] <= now and free and not record.asks:
        asked = 1
        record.asks = 1
        record.asked_block = queued[1]
        record.asked_slot = record.issued % c.slots
        s.cache_arrived[channel, record.asked_slot] = 0
        record.miss_out += 1
        record.issued += 1
    record.reserved += looks - hit_before - asked
    if looks:
        _leave_port(s, channel)
    return takes
