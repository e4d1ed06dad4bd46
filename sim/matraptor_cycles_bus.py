"""Cycle model: the lanes' readers, the crossbar, and the memory channels behind it."""

from __future__ import annotations

from typing import Any

from .compiled import inlined
from .dram import push, serve
from .matraptor_cycles_state import ASKED, Shape, State

__all__ = ["ask", "bus_step", "can_ask", "has_beat", "take_beat"]

A_PAIRS, A_ENTRIES, B_PAIRS, B_ENTRIES = range(4)
_TAG = 512
"""More than the beats of a burst: tags hold reader, slot and beats."""


@inlined
def can_ask(c: Shape, s: State, lane: int, unit: int, stages: int) -> bool:
    """Whether the stages before a reader take a request."""
    reader = s.readers[lane, unit]
    return reader.waiting < stages and reader.issued - reader.head < c.slots


@inlined
def ask(
    c: Shape, s: State, lane: int, unit: int, channel: int, address: int, beats: int, since: int
) -> None:
    """Request a burst; ``address`` counts within the channel."""
    reader = s.readers[lane, unit]
    slot = reader.issued % c.slots
    s.slot_beats[lane, unit, slot] = beats
    s.slot_arrived[lane, unit, slot] = 0
    reader.issued += 1
    request = s.asked[lane, unit, (reader.first + reader.waiting) % ASKED]
    request[0] = channel
    request[1] = address
    request[2] = beats
    request[3] = ((lane * 4 + unit) * c.slots + slot) * _TAG + beats
    request[4] = since
    reader.waiting += 1


@inlined
def has_beat(c: Shape, s: State, lane: int, unit: int, now: int) -> bool:
    """Whether a reader has its next beat."""
    reader = s.readers[lane, unit]
    if reader.issued == reader.head:
        return False
    slot = reader.head % c.slots
    if s.slot_arrived[lane, unit, slot] <= reader.taken:
        return False
    return s.beat_time[lane, unit, slot * c.burst_beats + reader.taken] <= now


@inlined
def take_beat(c: Shape, s: State, lane: int, unit: int) -> None:
    """Take it."""
    reader = s.readers[lane, unit]
    reader.popped += 1
    reader.taken += 1
    if reader.taken == s.slot_beats[lane, unit, reader.head % c.slots]:
        reader.taken = 0
        reader.head += 1


@inlined
def _lane_port(c: Shape, s: State, t: Any, lane: int, now: int) -> None:
    """One request of the lane's readers, in turn, to its port."""
    record = s.lanes[lane]
    if record.port_count == 2:
        return
    for step in range(1, 5):
        unit = (record.mux + step) % 4
        reader = s.readers[lane, unit]
        request = s.asked[lane, unit, reader.first]
        # A slot is free again when its last beat is at the reader's output.
        free = reader.sent - reader.head <= c.outstanding
        if reader.waiting and request[4] <= now and free:
            port = s.port[lane, record.port_count]
            for field in range(4):
                port[field] = request[field]
            port[4] = now + 1
            record.port_count += 1
            record.mux = unit
            reader.waiting -= 1
            reader.sent += 1
            reader.first = (reader.first + 1) % ASKED
            return


@inlined
def _answer(s: State, channel: int, ready: int, tag: int, beats: int) -> None:
    """Queue a burst's beats for the way back."""
    record = s.channels[channel]
    place = (record.head + record.count) % s.answers.shape[1]
    s.answers[channel, place, 0] = ready
    s.answers[channel, place, 1] = tag
    s.answers[channel, place, 2] = beats
    record.count += 1


@inlined
def _accept(
    c: Shape, s: State, d: Any, channel: int, address: int, beats: int, tag: int, ready: int
) -> None:
    """A read reaches a channel's memory."""
    if c.flat:
        _answer(s, channel, ready + c.flat_latency, tag, beats)
    else:
        last = address + beats * c.beat_bytes - 1
        accesses = last // c.access_bytes - address // c.access_bytes + 1
        push(d, channel, 0, address // c.page_bytes, accesses, tag)


@inlined
def _addresses(c: Shape, s: State, d: Any, t: Any, now: int) -> None:
    """Each channel takes a request of one of the lanes, in turn."""
    offered = False
    for lane in range(c.lanes):
        if s.lanes[lane].port_count and s.port[lane, 0, 4] <= now:
            offered = True
            record = s.channels[s.port[lane, 0, 0]]
            away = (lane - record.ar_mux - 1) % c.lanes
            if record.offers == 0 or away < (record.offer - record.ar_mux - 1) % c.lanes:
                record.offer = lane
            record.offers += 1
    if not offered:
        return
    for channel in range(c.channels):
        record = s.channels[channel]
        if record.offers == 0:
            continue
        lane, others = record.offer, record.offers - 1
        record.offers = 0
        if not c.flat and d.count[channel, 0] >= c.read_queue:
            continue
        s.lanes[lane].conflicts += others
        port = s.port[lane]
        _accept(c, s, d, channel, port[0, 1], port[0, 2], port[0, 3], now + t.bus)
        for field in range(5):
            port[0, field] = port[1, field]
        s.lanes[lane].port_count -= 1
        record.ar_mux = lane


@inlined
def _beats(c: Shape, s: State, t: Any, now: int) -> None:
    """Each lane takes a beat of one of the channels, in turn."""
    offered = False
    for channel in range(c.channels):
        answers = s.channels[channel]
        if answers.count == 0 or s.answers[channel, answers.head, 0] > now:
            continue
        offered = True
        tag = s.answers[channel, answers.head, 1] // _TAG
        record = s.lanes[tag // c.slots // 4]
        away = (channel - record.beat_mux - 1) % c.channels
        if not record.offered or away < (record.offer - record.beat_mux - 1) % c.channels:
            record.offer = channel
            record.offered = 1
    if not offered:
        return
    for lane in range(c.lanes):
        record = s.lanes[lane]
        if not record.offered:
            continue
        record.offered = 0
        channel = record.offer
        record.beat_mux = channel
        answers = s.channels[channel]
        tag = s.answers[channel, answers.head, 1] // _TAG
        slot, unit = tag % c.slots, tag // c.slots % 4
        arrived = s.slot_arrived[lane, unit, slot]
        s.beat_time[lane, unit, slot * c.burst_beats + arrived] = now + t.answer
        s.slot_arrived[lane, unit, slot] = arrived + 1
        s.readers[lane, unit].bytes += c.beat_bytes
        answers.sent += 1
        if answers.sent == s.answers[channel, answers.head, 2]:
            answers.sent = 0
            answers.count -= 1
            answers.head = (answers.head + 1) % s.answers.shape[1]


@inlined
def _write_beats(c: Shape, s: State, d: Any, channel: int, now: int) -> None:
    """A beat of the burst that a channel is writing."""
    record = s.channels[channel]
    if record.write_count == 0:
        return
    head = record.write_head
    if record.write_left == 0:
        if s.writes[channel, head, 3] > now:
            return
        if not c.flat and d.count[channel, 1] >= c.write_queue:
            return
        record.write_left = s.writes[channel, head, 2]
    record.write_left -= 1
    lane = s.writes[channel, head, 0]
    s.lanes[lane].write_beats -= 1
    if record.write_left == 0:
        address, beats = s.writes[channel, head, 1], s.writes[channel, head, 2]
        if not c.flat:
            last = address + beats * c.beat_bytes - 1
            accesses = last // c.access_bytes - address // c.access_bytes + 1
            push(d, channel, 1, address // c.page_bytes, accesses, 0)
        s.lanes[lane].last_response = max(s.lanes[lane].last_response, now + c.flat_latency)
        record.write_count -= 1
        record.write_head = (head + 1) % s.writes.shape[1]


@inlined
def bus_step(c: Shape, s: State, d: Any, dram: Any, t: Any, now: int) -> None:
    """One cycle of everything between the readers and the memories."""
    for channel in range(c.channels):
        _write_beats(c, s, d, channel, now)
        if not c.flat:
            tag, write, ready = serve(dram, d, channel, float(now))
            if tag >= 0:
                s.channels[channel].end = max(s.channels[channel].end, int(ready))
                if not write:
                    cycle = int(ready + dram.controller) + 1
                    _answer(s, channel, cycle, tag, tag % _TAG)
    _beats(c, s, t, now)
    # A port that is full at the beginning of a cycle takes nothing in it.
    for lane in range(c.lanes):
        _lane_port(c, s, t, lane, now)
    _addresses(c, s, d, t, now)
