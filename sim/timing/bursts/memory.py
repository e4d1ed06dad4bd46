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
