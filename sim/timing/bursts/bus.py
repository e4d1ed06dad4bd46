"""Cycle model of ``BurstReader`` and ``BurstWriter``, of the arbiters behind readers, and of the
memory behind managers.

A flat memory sends a burst's first beat ``latency`` cycles after its address was taken, a beat a
cycle, in order; it answers a write so many cycles after the last beat. A DRAM's reads come in the
order in which its controller serves them, those of a reader in theirs; writes are answered as by
the flat memory, when they are in its queue.
"""

from __future__ import annotations

from ..compiled import inlined
from ..dram import push, serve
from ..parts import queue_step, round_robin, skid_full, skid_put, split
from .state import RING, Managers


@inlined
def reader_idle(b: Managers, reader: int) -> bool:
    """Returns whether the reader holds nothing and the bus owes it nothing."""
    r = b.readers[reader]
    inside = r.request.active | r.request.split | r.reserved | r.issued | r.under
    idle: bool = inside == 0
    return idle


@inlined
def managers_idle(b: Managers) -> bool:
    """Returns whether all readers and the writer are idle."""
    for reader in range(b.c.readers):
        if not reader_idle(b, reader):
            return False
    return writer_idle(b)


@inlined
def reader_step(b: Managers, reader: int) -> None:
    """A cycle: ``asks`` and ``takes`` are what its neighbours want, ``comes`` and ``granted`` what
    the memory and the arbiter have said; ``accepts`` says afterwards whether the request was
    taken."""
    r = b.readers[reader]
    comes = r.comes != 0
    taken = r.beats.valid != 0 and r.takes != 0
    may_issue = r.reserved <= r.buffer - r.burst and r.under != r.outstanding
    free = r.granted != 0 or r.issued == 0
    r.comes = r.granted = 0
    request = r.request
    moves = may_issue and free
    issues = request.split != 0 and moves
    if free:
        r.issued = request.split != 0 and may_issue
        r.issued_place, r.issued_beats = request.split_place, request.split_beats
    r.under += int(issues) - int(comes and r.comes_last != 0)
    r.reserved += (request.split_beats if issues else 0) - int(taken)
    r.accepts = split(request, r.burst, moves, r.asks != 0, r.ask_place, r.ask_beats)
    queue_step(r.beats, comes, taken)


@inlined
def writer_idle(b: Managers) -> bool:
    """Returns whether the writer holds nothing and has all its responses."""
    w = b.writer[0]
    waits = w.addresses.valid if b.c.deep else w.addresses.level
    inside = w.request.active | w.request.split | w.stored | w.aw | w.w | waits
    idle: bool = inside == 0 and w.lengths_in == w.lengths_out
    return idle


@inlined
def writer_step(b: Managers, now: int) -> None:
    """A cycle: ``asks`` and ``beat`` are what its neighbour wants, of which the latter is taken if
    ``takes``; ``accepts`` says afterwards whether the request was taken."""
    w = b.writer[0]
    answered = w.answers_out < w.answers_in and b.answers[w.answers_out % RING] <= now
    w.answers_out += answered
    request = w.request
    may_issue = w.stored >= request.split_beats and w.addresses.level != b.c.addresses
    # The arbiter always takes the burst that is there.
    issues = request.split != 0 and may_issue
    if w.aw:
        place = w.lengths_in % RING
        b.lengths[place, 0], b.lengths[place, 1] = w.aw_place, w.aw_beats
    sends = w.lengths_in != w.lengths_out and w.beats.valid != 0
    puts = w.beat != 0 and w.takes != 0
    # Data of issued bursts.
    w.w = sends
    if sends:
        w.w_last = w.sent == b.lengths[w.lengths_out % RING, 1] - 1
        w.sent = 0 if w.w_last else w.sent + 1
        w.lengths_out += w.w_last
    queue_step(w.beats, puts, sends)
    w.lengths_in += w.aw
    w.stored += int(puts) - (request.split_beats if issues else 0)
    if b.c.deep:
        queue_step(w.addresses, issues, answered)
    else:
        w.addresses.level += int(issues) - int(answered)
    w.aw = issues
    w.aw_place, w.aw_beats = request.split_place, request.split_beats
    w.accepts = split(request, b.c.burst, may_issue, w.asks != 0, w.ask_place, w.ask_beats)
    w.takes = w.beats.level != b.c.buffer


@inlined
def data_step(b: Managers, now: int) -> None:
    """The beats that come in a cycle, and the one that is sent."""
    for manager in range(b.c.loads):
        _next_beat(b, manager, now)
    _take_data(b, now)


@inlined
def _next_beat(b: Managers, manager: int, now: int) -> None:
    """Delivers this cycle's beat to its reader; ``comes_last`` marks the last one of a burst."""
    m = b.managers[manager]
    if m.sends_in == m.sends_out:
        return
    place = m.sends_out % RING
    if b.sends[manager, place, 2] > now:
        return
    r = b.readers[b.sends[manager, place, 0]]
    r.comes = 1
    m.sending += 1
    r.comes_last = m.sending == b.sends[manager, place, 1]
    if r.comes_last:
        m.sending = 0
        m.sends_out += 1


@inlined
def _send(b: Managers, manager: int, reader: int, beats: int, at: int) -> None:
    m = b.managers[manager]
    place = m.sends_in % RING
    b.sends[manager, place, 0] = reader
    b.sends[manager, place, 1] = beats
    b.sends[manager, place, 2] = at
    m.sends_in += 1


@inlined
def _pages(b: Managers, place: int, beats: int) -> int:
    first = place * b.c.beat // b.c.page_bytes
    return ((place + beats) * b.c.beat - 1) // b.c.page_bytes - first + 1


@inlined
def _push(b: Managers, channel: int, write: int, place: int, beats: int, tag: int) -> None:
    """A burst to the controller's queue, a request for each page."""
    address, end = place * b.c.beat, (place + beats) * b.c.beat
    while address < end:
        page = address // b.c.page_bytes
        stop = min(end, (page + 1) * b.c.page_bytes)
        accesses = (stop - 1) // b.c.access_bytes - address // b.c.access_bytes + 1
        push(b.dram, channel, write, page, accesses, tag)
        address = stop


@inlined
def _taken(b: Managers, manager: int, now: int) -> bool:
    """Offers the memory the burst at ``ar``; returns whether the memory accepts it."""
    held = b.managers[manager].requests
    reader, beats = held.source, held.note
    if b.c.flat:
        _send(b, manager, reader, beats, now + b.c.latency)
        return True
    parts = _pages(b, held.place, beats)
    if b.dram.count[manager, 0] + parts > b.c.read_queue:
        return False
    r = b.readers[reader]
    tag = r.bursts % RING
    b.asked[reader, tag, 0] = beats
    b.asked[reader, tag, 1] = parts
    _push(b, manager, 0, held.place, beats, reader * RING + tag)
    r.bursts += 1
    return True


@inlined
def arbitrate(b: Managers, now: int) -> None:
    """Each memory takes a burst from its arbiter, and that one of the next reader that has one."""
    for manager in range(b.c.loads):
        m = b.managers[manager]
        if m.requests.valid and _taken(b, manager, now):
            m.requests.valid = 0
        if skid_full(m.requests):
            continue
        requests, count = 0, b.inputs[manager]
        for index in range(count):
            requests |= (b.readers[b.members[manager, index]].issued != 0) << index
        if requests:
            m.served = round_robin(requests, m.served, count)
            reader = b.members[manager, m.served]
            r = b.readers[reader]
            r.granted = 1
            skid_put(m.requests, reader, r.issued_place, r.issued_beats)


@inlined
def _take_data(b: Managers, now: int) -> None:
    """The beat at ``w``, which is always taken; whole bursts are answered."""
    w = b.writer[0]
    if w.w and w.w_last:
        w.arrived += 1
    if w.written < w.arrived:
        place, beats = b.lengths[w.written % RING, 0], b.lengths[w.written % RING, 1]
        channel = b.c.stores
        if not b.c.flat:
            if b.dram.count[channel, 1] + _pages(b, place, beats) > b.c.write_queue:
                return
            _push(b, channel, 1, place, beats, 0)
        b.answers[w.answers_in % RING] = now + b.c.registers + b.c.latency
        w.answers_in += 1
        w.written += 1


@inlined
def serve_dram(b: Managers, now: int) -> None:
    """The next access of each controller that is to decide on one."""
    if not b.c.flat:
        for channel in range(b.c.managers):
            if b.dram.count[channel, 0] + b.dram.count[channel, 1]:
                _serve(b, channel, now)


@inlined
def _serve(b: Managers, channel: int, now: int) -> None:
    tag, wrote, ready = serve(b.times, b.dram, channel, float(now))
    if tag >= 0 and not wrote:
        reader = tag // RING
        r = b.readers[reader]
        b.asked[reader, tag % RING, 1] -= 1
        soonest = int(ready + b.times.controller) + 1
        while r.whole < r.bursts and b.asked[reader, r.whole % RING, 1] == 0:
            _send(b, channel, reader, b.asked[reader, r.whole % RING, 0], soonest)
            r.whole += 1
