"""Cycle model of the memory behind the managers, and of the arbiter before it.

A flat memory sends a burst's first beat ``latency`` cycles after its address was taken, a beat a
cycle, in order; it answers a write so many cycles after the last beat. A DRAM's reads come in the
order in which its controller serves them, those of a reader in theirs; writes are answered as by
the flat memory, when they are in its queue.
"""

from __future__ import annotations

from ...timing.compiled import inlined
from ...timing.dram import push, serve
from .state import RING, Gta

__all__ = ["arbitrate", "next_beat", "serve_dram", "take_data"]


@inlined
def next_beat(g: Gta, now: int) -> None:
    """Which reader's beat comes in this cycle: ``comes``, 0 for none; ``comes_last`` of its
    burst."""
    m = g.m[0]
    m.comes = 0
    if m.sends_in == m.sends_out:
        return
    place = m.sends_out % RING
    if g.sends[place, 2] > now:
        return
    m.comes = g.sends[place, 0] + 1
    m.sending += 1
    m.comes_last = m.sending == g.sends[place, 1]
    if m.comes_last:
        m.sending = 0
        m.sends_out += 1


@inlined
def _send(g: Gta, reader: int, beats: int, at: int) -> None:
    m = g.m[0]
    place = m.sends_in % RING
    g.sends[place, 0] = reader
    g.sends[place, 1] = beats
    g.sends[place, 2] = at
    m.sends_in += 1


@inlined
def _pages(g: Gta, place: int, beats: int) -> int:
    first = place * g.c.beat // g.c.page_bytes
    return ((place + beats) * g.c.beat - 1) // g.c.page_bytes - first + 1


@inlined
def _push(g: Gta, channel: int, write: int, place: int, beats: int, tag: int) -> None:
    """A burst to the controller's queue, a request for each page."""
    address, end = place * g.c.beat, (place + beats) * g.c.beat
    while address < end:
        page = address // g.c.page_bytes
        stop = min(end, (page + 1) * g.c.page_bytes)
        accesses = (stop - 1) // g.c.access_bytes - address // g.c.access_bytes + 1
        push(g.dram, channel, write, page, accesses, tag)
        address = stop


@inlined
def arbitrate(g: Gta, now: int) -> None:
    """The memory takes a burst from the arbiter, and that one of the next reader that has one."""
    m = g.m[0]
    free = True
    if m.held:
        reader = m.held_reader
        r = g.readers[reader]
        place, beats = g.held[0, 0], g.held[0, 1]
        if g.c.flat:
            _send(g, reader, beats, now + g.c.latency)
        elif g.dram.count[0, 0] + _pages(g, place, beats) <= g.c.read_queue:
            g.asked[reader, r.bursts % RING, 0] = beats
            g.asked[reader, r.bursts % RING, 1] = _pages(g, place, beats)
            _push(g, 0, 0, place, beats, reader * RING + r.bursts % RING)
            r.bursts += 1
        else:
            free = False
    choice = -1
    for reader in range(2):
        g.readers[reader].granted = 0
    if not m.spare:
        if g.readers[1 - m.served].issued:
            choice = 1 - m.served
        elif g.readers[m.served].issued:
            choice = m.served
    if choice >= 0:
        m.served = choice
        g.readers[choice].granted = 1
    _pass_on(g, free, choice)


@inlined
def _pass_on(g: Gta, free: bool, choice: int) -> None:
    """The two registers behind the arbiter; ``free``: the first one's burst is taken, or it has
    none."""
    m = g.m[0]
    if free:
        source = m.spare_reader if m.spare else choice
        m.held = m.spare != 0 or choice >= 0
        if m.held:
            m.held_reader = source
            if m.spare:
                g.held[0, 0], g.held[0, 1] = g.held[1, 0], g.held[1, 1]
            else:
                g.held[0, 0] = g.readers[choice].issued_place
                g.held[0, 1] = g.readers[choice].issued_beats
        m.spare = 0
    elif choice >= 0:
        m.spare = 1
        m.spare_reader = choice
        g.held[1, 0] = g.readers[choice].issued_place
        g.held[1, 1] = g.readers[choice].issued_beats


@inlined
def take_data(g: Gta, now: int) -> None:
    """The beat at `w`, which is always taken; whole bursts are answered."""
    m = g.m[0]
    if m.w and m.w_last:
        m.arrived += 1
    if m.written < m.arrived:
        place, beats = g.lengths[m.written % RING, 0], g.lengths[m.written % RING, 1]
        channel = g.c.channels - 1
        if not g.c.flat:
            if g.dram.count[channel, 1] + _pages(g, place, beats) > g.c.write_queue:
                return
            _push(g, channel, 1, place, beats, 0)
        g.answers[m.answers_in % RING] = now + g.c.latency
        m.answers_in += 1
        m.written += 1


@inlined
def serve_dram(g: Gta, now: int) -> None:
    """The controllers' next accesses, if it is time to decide on one."""
    for channel in range(g.c.channels):
        if g.dram.count[channel, 0] + g.dram.count[channel, 1]:
            tag, wrote, ready = serve(g.times, g.dram, channel, float(now))
            if tag >= 0 and not wrote:
                reader = tag // RING
                r = g.readers[reader]
                g.asked[reader, tag % RING, 1] -= 1
                soonest = int(ready + g.times.controller) + 1
                while r.whole < r.bursts and g.asked[reader, r.whole % RING, 1] == 0:
                    _send(g, reader, g.asked[reader, r.whole % RING, 0], soonest)
                    r.whole += 1
