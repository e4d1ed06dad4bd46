"""Cycle model of the memory behind managers, and of the arbiters before it.

A flat memory sends a burst's first beat ``latency`` cycles after its address was taken, a beat a
cycle, in order; it answers a write so many cycles after the last beat. A DRAM's reads come in the
order in which its controller serves them, those of a reader in theirs; writes are answered as by
the flat memory, when they are in its queue.
"""

from __future__ import annotations

from ..compiled import inlined
from ..dram import push, serve
from .state import RING, Managers


@inlined
def reader_idle(b: Managers, reader: int) -> bool:
    """Whether nothing is inside, and nothing owed by the bus."""
    r = b.readers[reader]
    idle: bool = (r.active | r.split | r.reserved | r.issued | r.under) == 0
    return idle


@inlined
def reader_step(b: Managers, reader: int) -> None:
    """A cycle: ``asks`` and ``takes`` are what its neighbours want, ``comes`` and ``granted`` what
    the memory and the arbiter have said; ``accepts`` says afterwards whether the request was
    taken."""
    r = b.readers[reader]
    comes = r.comes != 0
    taken = r.valid != 0 and r.takes != 0
    may_issue = r.reserved <= r.buffer - r.burst and r.under != r.outstanding
    free = r.granted != 0 or r.issued == 0
    r.comes = r.granted = 0
    splits = may_issue and free
    issues = r.split != 0 and splits
    if free:
        r.issued = r.split != 0 and may_issue
        r.issued_place, r.issued_beats = r.split_place, r.split_beats
    r.under += int(issues) - int(comes and r.comes_last != 0)
    r.reserved += (r.split_beats if issues else 0) - int(taken)
    # The splitter.
    moves = splits or r.split == 0
    room = r.burst - r.place % r.burst
    ends = r.left <= room
    beats = r.left if ends else room
    r.accepts = r.active == 0 or (moves and ends)
    if moves:
        r.split, r.split_place, r.split_beats = r.active, r.place, beats
    if r.accepts:
        r.active, r.place, r.left = r.asks, r.ask_place, r.ask_beats
    elif moves:
        r.place += beats
        r.left -= beats
    # The buffer.
    reads = r.level != 0 and (r.valid == 0 or taken)
    r.valid = reads or (r.valid != 0 and not taken)
    r.level += int(comes) - int(reads)


@inlined
def writer_idle(b: Managers) -> bool:
    """Whether nothing is inside, and every response is back."""
    w = b.writer[0]
    waits = w.address if b.c.deep else w.addresses
    inside = w.active | w.split | w.stored | w.aw | w.w | waits
    idle: bool = inside == 0 and w.lengths_in == w.lengths_out
    return idle


@inlined
def writer_step(b: Managers, now: int) -> None:
    """A cycle: ``asks`` and ``beat`` are what its neighbour wants, of which the latter is taken if
    ``takes``; ``accepts`` says afterwards whether the request was taken."""
    w = b.writer[0]
    answered = w.answers_out < w.answers_in and b.answers[w.answers_out % RING] <= now
    w.answers_out += answered
    may_issue = w.stored >= w.split_beats and w.addresses != b.c.addresses
    # The arbiter always takes the burst that is there.
    issues = w.split != 0 and may_issue
    if w.aw:
        place = w.lengths_in % RING
        b.lengths[place, 0], b.lengths[place, 1] = w.aw_place, w.aw_beats
    sends = w.lengths_in != w.lengths_out and w.valid != 0
    puts = w.beat != 0 and w.takes != 0
    # Data of issued bursts.
    w.w = sends
    if sends:
        w.w_last = w.sent == b.lengths[w.lengths_out % RING, 1] - 1
        w.sent = 0 if w.w_last else w.sent + 1
        w.lengths_out += w.w_last
    reads = w.level != 0 and (w.valid == 0 or sends)
    w.valid = reads or (w.valid != 0 and not sends)
    w.level += int(puts) - int(reads)
    w.lengths_in += w.aw
    w.stored += int(puts) - (w.split_beats if issues else 0)
    _queue_address(b, issues, answered)
    w.aw = issues
    w.aw_place, w.aw_beats = w.split_place, w.split_beats
    # The splitter.
    moves = may_issue or w.split == 0
    room = b.c.burst - w.place % b.c.burst
    ends = w.left <= room
    beats = w.left if ends else room
    w.accepts = w.active == 0 or (moves and ends)
    if moves:
        w.split, w.split_place, w.split_beats = w.active, w.place, beats
    if w.accepts:
        w.active, w.place, w.left = w.asks, w.ask_place, w.ask_beats
    elif moves:
        w.place += beats
        w.left -= beats
    w.takes = w.level != b.c.buffer


@inlined
def _queue_address(b: Managers, puts: bool, takes: bool) -> None:
    """Addresses that wait for a response; of a memory one more is at its output."""
    w = b.writer[0]
    if not b.c.deep:
        w.addresses += int(puts) - int(takes)
        return
    reads = w.addresses != 0 and (w.address == 0 or takes)
    w.address = reads or (w.address != 0 and not takes)
    w.addresses += int(puts) - int(reads)


__all__ = ["arbitrate", "next_beat", "serve_dram", "take_data"]


@inlined
def next_beat(b: Managers, manager: int, now: int) -> None:
    """Which reader's beat comes in this cycle: its ``comes``, ``comes_last`` of its burst."""
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
    """Whether the memory takes the burst at ``ar``."""
    m = b.managers[manager]
    reader, beats = m.held_reader, m.held_beats
    if b.c.flat:
        _send(b, manager, reader, beats, now + b.c.latency)
        return True
    parts = _pages(b, m.held_place, beats)
    if b.dram.count[manager, 0] + parts > b.c.read_queue:
        return False
    r = b.readers[reader]
    tag = r.bursts % RING
    b.asked[reader, tag, 0] = beats
    b.asked[reader, tag, 1] = parts
    _push(b, manager, 0, m.held_place, beats, reader * RING + tag)
    r.bursts += 1
    return True


@inlined
def arbitrate(b: Managers, manager: int, now: int) -> None:
    """The memory takes a burst from the arbiter, and that one of the next reader that has one."""
    m = b.managers[manager]
    free = not m.held or _taken(b, manager, now)
    choice = -1
    if not m.spare:
        index, count = m.served, b.inputs[manager]
        for _ in range(count):
            index = index + 1 if index + 1 < count else 0
            if b.readers[b.members[manager, index]].issued:
                choice = b.members[manager, index]
                m.served = index
                b.readers[choice].granted = 1
                break
    if free:
        m.held = m.spare != 0 or choice >= 0
        if m.spare:
            m.held_reader, m.held_place = m.spare_reader, m.spare_place
            m.held_beats = m.spare_beats
        elif choice >= 0:
            r = b.readers[choice]
            m.held_reader, m.held_place, m.held_beats = choice, r.issued_place, r.issued_beats
        m.spare = 0
    elif choice >= 0:
        r = b.readers[choice]
        m.spare = 1
        m.spare_reader, m.spare_place, m.spare_beats = choice, r.issued_place, r.issued_beats


@inlined
def take_data(b: Managers, now: int) -> None:
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
def serve_dram(b: Managers, channel: int, now: int) -> None:
    """The controller's next access, if it is time to decide on one."""
    if b.c.flat or b.dram.count[channel, 0] + b.dram.count[channel, 1] == 0:
        return
    tag, wrote, ready = serve(b.times, b.dram, channel, float(now))
    if tag >= 0 and not wrote:
        reader = tag // RING
        r = b.readers[reader]
        b.asked[reader, tag % RING, 1] -= 1
        soonest = int(ready + b.times.controller) + 1
        while r.whole < r.bursts and b.asked[reader, r.whole % RING, 1] == 0:
            _send(b, channel, reader, b.asked[reader, r.whole % RING, 0], soonest)
            r.whole += 1
