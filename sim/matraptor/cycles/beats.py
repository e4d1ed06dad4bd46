"""Cycle model: the crossbar's way back, from the beats of the channels to the lanes' readers."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import SLOT, TAG, UNITS, Shape, State

__all__ = ["next_beat", "sooner", "take_beats"]

_ANSWER = 3
"""Cycles from a beat at the memory's port to the reader's output, if nothing is before it."""


@inlined
def sooner(one: int, other: int, last: int) -> bool:
    """Returns whether ``one`` has its turn before the lower number ``other``, after ``last``."""
    return one > last >= other


@inlined
def next_beat(s: State, channel: int) -> None:
    """The first beat at a channel's port goes."""
    answers = s.channels[channel]
    answers.sent += 1
    if answers.sent == s.answers[channel, answers.head, 2]:
        answers.sent = 0
        answers.count -= 1
        answers.head = answers.head + 1 if answers.head + 1 < s.answers.shape[1] else 0


@inlined
def _arrive(c: Shape, s: State, lane: int, tag: int, now: int) -> None:
    """A beat to the reader that asked for it."""
    slot, unit = tag % SLOT, tag // SLOT % UNITS
    arrived = s.slot_arrived[lane, unit, slot]
    s.beat_time[lane, unit, slot * c.burst_beats + arrived] = now + _ANSWER
    s.slot_arrived[lane, unit, slot] = arrived + 1
    reader = s.readers[lane, unit]
    reader.bytes += c.beat_bytes
    if slot == reader.slot and arrived == reader.taken:
        reader.next_at = now + _ANSWER


@inlined
def _queue_beat(c: Shape, s: State, channel: int, tag: int, now: int) -> bool:
    """A channel's beat into the queue of its lane; False if that is full."""
    lane = tag // SLOT // UNITS
    number = s.beats_in[channel, lane]
    if number - s.beats_out[channel, lane] > c.beat_queue:
        return False
    place = s.beats[channel, lane, number % (c.beat_queue + 1)]
    place[0] = now + 2
    place[1] = tag
    s.beats_in[channel, lane] = number + 1
    return True


@inlined
def _queued_beats(c: Shape, s: State, now: int) -> None:
    """Each lane takes a beat of the queues that the channels have for it, in turn. What comes in
    this cycle has been queued already, and is not seen yet."""
    for lane in range(c.ports):
        record = s.lanes[lane]
        for step in range(1, c.channels + 1):
            channel = (record.beat_mux + step) % c.channels
            number = s.beats_out[channel, lane]
            place = s.beats[channel, lane, number % (c.beat_queue + 1)]
            if number < s.beats_in[channel, lane] and place[0] <= now:
                s.beats_out[channel, lane] = number + 1
                record.beat_mux = channel
                _arrive(c, s, lane, place[1], now)
                break


@inlined
def _cached_beats(c: Shape, s: State, now: int) -> None:
    """The same as `_beats` behind caches, each of which offers a beat or none."""
    for channel in range(c.channels):
        beat = s.caches[channel]
        if not beat.offered:
            continue
        if c.beat_queue:
            if _queue_beat(c, s, channel, beat.offered_tag // TAG, now):
                beat.offered = 0
            continue
        record = s.lanes[beat.offered_tag // TAG // SLOT // UNITS]
        if not record.offered or sooner(channel, record.offer, record.beat_mux):
            record.offer = channel
            record.offered = 1
    for lane in range(c.ports):
        record = s.lanes[lane]
        if not record.offered:
            continue
        record.offered = 0
        record.beat_mux = record.offer
        beat = s.caches[record.offer]
        beat.offered = 0
        _arrive(c, s, lane, beat.offered_tag // TAG, now)
    for channel in range(c.channels):
        beat = s.caches[channel]
        beat.spare = beat.offered
        beat.spare_tag = beat.offered_tag


@inlined
def _beats(c: Shape, s: State, now: int) -> None:
    """Each lane takes a beat of one of the channels, in turn."""
    offered = False
    for channel in range(c.channels):
        answers = s.channels[channel]
        if answers.count == 0 or s.answers[channel, answers.head, 0] > now:
            continue
        tag = s.answers[channel, answers.head, 1] // TAG
        if c.beat_queue:
            if _queue_beat(c, s, channel, tag, now):
                next_beat(s, channel)
            continue
        offered = True
        record = s.lanes[tag // SLOT // UNITS]
        if not record.offered or sooner(channel, record.offer, record.beat_mux):
            record.offer = channel
            record.offered = 1
    if not offered:
        return
    for lane in range(c.ports):
        record = s.lanes[lane]
        if not record.offered:
            continue
        record.offered = 0
        channel = record.offer
        record.beat_mux = channel
        tag = s.answers[channel, s.channels[channel].head, 1] // TAG
        _arrive(c, s, lane, tag, now)
        next_beat(s, channel)


@inlined
def take_beats(c: Shape, s: State, now: int) -> None:
    """Each lane takes a beat, and the channels' registers or queues the next ones."""
    if c.cache_sets:
        _cached_beats(c, s, now)
    else:
        _beats(c, s, now)
    if c.beat_queue:
        _queued_beats(c, s, now)
