"""Cycle model: the lanes' readers, the crossbar, and the memory channels behind it."""

from __future__ import annotations

from typing import Any

from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.compiled import inlined
from ...timing.dram import MemoryModel, channels, push, serve, timing
from .beats import next_beat, sooner, take_beats
from .cache import cache_arrives, cache_step
from .request_log import log_request
from .state import NEVER, SLOT, SPAN_RING, SPANS, TAG, UNITS, Shape, State, shape
from .writers import store_step

__all__ = ["bus", "bus_step", "flat_span", "has_beat", "span", "span_fits", "take_beat"]

A_PAIRS, A_ENTRIES, B_PAIRS, B_ENTRIES, VALUES = range(5)


def bus(config: MatRaptorConfig, memory: MemoryModel, gigahertz: float) -> tuple[Shape, Any, Any]:
    """The machine in numbers, its memory, and that one's times.

    Raises ValueError if a burst could cross a page.
    """
    if not memory.flat and memory.page_bytes < config.interleave:
        raise ValueError(
            f"`page_bytes` must be at least `interleave`, {config.interleave}, "
            f"not {memory.page_bytes}"
        )
    return shape(config, memory), channels(memory, config.channels), timing(memory, gigahertz)


@inlined
def span_fits(s: State, lane: int, unit: int, more: int) -> bool:
    """Returns whether the registers before a reader, ``more`` than the usual ones, accept a
    span."""
    reader = s.readers[lane, unit]
    return reader.span_in - reader.span_out < SPANS + more


@inlined
def span(
    s: State, lane: int, unit: int, channel: int, beat: int, beats: int, more: int, now: int
) -> None:
    """Ask for beats of an array in a channel, counted from the channel's beginning; ``more``:
    registers than the usual ones."""
    reader = s.readers[lane, unit]
    place = reader.span_in % SPAN_RING
    s.spans[lane, unit, place, 0] = channel
    s.spans[lane, unit, place, 1] = beat
    s.spans[lane, unit, place, 2] = beats
    s.spans[lane, unit, place, 3] = now + SPANS + more
    reader.span_in += 1


@inlined
def flat_span(
    c: Shape,
    s: State,
    lane: int,
    unit: int,
    first: int,
    count: int,
    block_words: int,
    base: int,
    more: int,
    now: int,
) -> None:
    """Ask for the beats with ``count`` words, from number ``first`` on, of an array at consecutive
    addresses; a block has ``block_words``."""
    beat_words = block_words // c.burst_beats
    beat, block = first // beat_words, first // block_words
    beats = (first + count - 1) // beat_words + 1 - beat
    within = beat - block * c.burst_beats
    place = base // c.beat_bytes + block // c.channels * c.burst_beats + within
    span(s, lane, unit, block % c.channels, place, beats, more, now)


@inlined
def has_beat(s: State, lane: int, unit: int, now: int) -> bool:
    """Returns whether a reader has its next beat at its output."""
    return s.readers[lane, unit].next_at <= now


@inlined
def take_beat(c: Shape, s: State, lane: int, unit: int) -> None:
    """Take it."""
    reader = s.readers[lane, unit]
    reader.popped += 1
    reader.taken += 1
    if reader.taken == s.slot_beats[lane, unit, reader.slot]:
        reader.taken = 0
        reader.head += 1
        reader.slot = reader.slot + 1 if reader.slot + 1 < c.slots else 0
    reader.next_at = NEVER
    if reader.head < reader.issued and reader.taken < s.slot_arrived[lane, unit, reader.slot]:
        reader.next_at = s.beat_time[lane, unit, reader.slot * c.burst_beats + reader.taken]


@inlined
def _slot_free(c: Shape, s: State, lane: int, unit: int, now: int) -> bool:
    """Returns whether a slot is free for a burst, as it is once its last beat is at the output."""
    reader = s.readers[lane, unit]
    of_b = unit >= B_PAIRS and lane < c.lanes
    used, most = reader.issued - reader.head, c.outstanding if of_b else c.a_bursts
    if used < most:
        return True
    last = s.slot_beats[lane, unit, reader.slot] - 1
    return used == most and reader.taken == last and has_beat(s, lane, unit, now)


@inlined
def _issue(c: Shape, s: State, lane: int, unit: int, channel: int, beat: int, beats: int) -> None:
    """A burst into the reader's register."""
    reader = s.readers[lane, unit]
    slot = reader.issued % c.slots
    s.slot_beats[lane, unit, slot] = beats
    s.slot_arrived[lane, unit, slot] = 0
    reader.issued += 1
    request = s.requests[lane, unit]
    request[0] = channel
    request[1] = beat * c.beat_bytes
    request[2] = beats
    request[3] = ((lane * UNITS + unit) * SLOT + slot) * TAG + beats
    reader.request = 1
    s.lanes[lane].asking += 1


@inlined
def _walk(c: Shape, s: State, lane: int, unit: int, now: int) -> None:
    """A burst of the span at hand into the reader's register, or into the skid buffer if that is
    taken; then the next span."""
    reader = s.readers[lane, unit]
    free = not reader.request and _slot_free(c, s, lane, unit, now)
    if reader.skid_beats:
        if free:
            beats = reader.skid_beats
            _issue(c, s, lane, unit, reader.skid_channel, reader.skid_beat, beats)
            reader.skid_beats = 0
    elif reader.left:
        beats = min(reader.left, c.burst_beats - reader.beat % c.burst_beats)
        if free:
            _issue(c, s, lane, unit, reader.channel, reader.beat, beats)
        else:
            reader.skid_channel = reader.channel
            reader.skid_beat = reader.beat
            reader.skid_beats = beats
        reader.beat += beats
        reader.left -= beats
        flat = lane == c.lanes or (c.b_csr and unit >= B_PAIRS)
        if flat and reader.beat % c.burst_beats == 0:
            # The next block is in the next channel.
            reader.channel += 1
            if reader.channel < c.channels:
                reader.beat -= c.burst_beats
            else:
                reader.channel = 0
    if reader.left:
        return
    place = reader.span_out % SPAN_RING
    if reader.span_out < reader.span_in and s.spans[lane, unit, place, 3] <= now:
        reader.channel = s.spans[lane, unit, place, 0]
        reader.beat = s.spans[lane, unit, place, 1]
        reader.left = s.spans[lane, unit, place, 2]
        reader.span_out += 1


@inlined
def _lane_port(c: Shape, s: State, lane: int, now: int) -> None:
    """One request of the lane's readers, in turn, to its port; new ones to the readers'."""
    record = s.lanes[lane]
    # A port that is full at the beginning of a cycle takes nothing in it.
    if record.asking and record.port_count < 2:
        for step in range(1, UNITS + 1):
            unit = (record.mux + step) % UNITS
            if s.readers[lane, unit].request:
                port = s.port[lane, record.port_count]
                for field in range(4):
                    port[field] = s.requests[lane, unit, field]
                port[4] = now + 1
                record.port_count += 1
                record.mux = unit
                s.readers[lane, unit].request = 0
                record.asking -= 1
                break
    for unit in range(UNITS):
        reader = s.readers[lane, unit]
        if reader.left or reader.skid_beats or reader.span_out < reader.span_in:
            _walk(c, s, lane, unit, now)


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
    log_request(s, ready, channel, address, beats * c.beat_bytes, 0)
    if c.flat:
        _answer(s, channel, ready + c.flat_latency, tag, beats)
        s.channels[channel].read += beats * c.beat_bytes
    else:
        last = address + beats * c.beat_bytes - 1
        accesses = last // c.access_bytes - address // c.access_bytes + 1
        s.channels[channel].read += accesses * c.access_bytes
        push(d, channel, 0, address // c.page_bytes, accesses, tag)


@inlined
def _to_cache(
    c: Shape, s: State, channel: int, address: int, beats: int, tag: int, now: int
) -> None:
    """A read into the register of the crossbar before a channel's cache."""
    record = s.caches[channel]
    place = s.cache_port[channel, record.port_count]
    place[0] = address
    place[1] = beats
    place[2] = tag
    place[3] = now + 1
    unit = tag // TAG // SLOT
    place[4] = unit % UNITS >= B_PAIRS and unit // UNITS < c.lanes
    record.port_count += 1


@inlined
def _through_cache(c: Shape, s: State, d: Any, channel: int, now: int) -> None:
    """A cycle of a channel's cache, and what it exchanges with the memory."""
    answers, record = s.channels[channel], s.caches[channel]
    tag, passing = 0, False
    if answers.count > 0 and s.answers[channel, answers.head, 0] <= now:
        tag = s.answers[channel, answers.head, 1]
        passing = tag < c.fill_tag
        if not passing:
            cache_arrives(c, s, channel, tag // TAG % SLOT, now)
            next_beat(s, channel)
    if cache_step(c, s, channel, passing, now):
        record.offered_tag = tag
        next_beat(s, channel)
    bus = s.cache_bus[channel]
    room = c.flat or d.count[channel, 0] < c.read_queue
    if room and record.bus_count > 0 and bus[0, 3] <= now:
        _accept(c, s, d, channel, bus[0, 0], bus[0, 1], bus[0, 2], now)
        for field in range(4):
            bus[0, field] = bus[1, field]
        record.bus_count -= 1


@inlined
def _addresses(c: Shape, s: State, d: Any, now: int) -> None:
    """Each channel takes a request of one of the lanes, in turn."""
    offered = False
    for lane in range(c.ports):
        if s.lanes[lane].port_count and s.port[lane, 0, 4] <= now:
            offered = True
            record = s.channels[s.port[lane, 0, 0]]
            if record.offers == 0 or sooner(lane, record.offer, record.ar_mux):
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
        if c.cache_sets:
            if s.caches[channel].port_full:
                continue
        elif not c.flat and d.count[channel, 0] >= c.read_queue:
            continue
        s.lanes[lane].conflicts += others
        s.lanes[lane].granted_at = now
        record.granted_at = now
        port = s.port[lane]
        if c.cache_sets:
            _to_cache(c, s, channel, port[0, 1], port[0, 2], port[0, 3], now)
        else:
            _accept(c, s, d, channel, port[0, 1], port[0, 2], port[0, 3], now + 1)
        for field in range(5):
            port[0, field] = port[1, field]
        s.lanes[lane].port_count -= 1
        record.ar_mux = lane


@inlined
def bus_step(c: Shape, s: State, d: Any, dram: Any, t: Any, now: int) -> None:
    """One cycle of everything between the lanes and the memories."""
    if c.cache_sets:
        for channel in range(c.channels):
            _through_cache(c, s, d, channel, now)
    for channel in range(c.channels):
        if s.channels[channel].writing:
            store_step(c, s, d, t, channel, now)
        if not c.flat:
            tag, write, ready = serve(dram, d, channel, float(now))
            if tag >= 0 and not write:
                cycle = int(ready + dram.controller) + 1
                _answer(s, channel, cycle, tag, tag % TAG)
    take_beats(c, s, now)
    for lane in range(c.ports):
        _lane_port(c, s, lane, now)
    _addresses(c, s, d, now)
