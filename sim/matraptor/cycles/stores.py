"""Cycle model: the burst writers of a channel, and their way to its memory."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import inlined
from ...timing.dram import push
from .state import SPANS, Latency, Shape, State

__all__ = ["store_step"]

_KINDS = 2


@inlined
def _writer(c: Shape, channel: int, index: int) -> tuple[int, int, int]:
    """Lane, kind and slot of a channel's writers, by their numbers."""
    if c.lanes >= c.channels:
        return channel + index // _KINDS * c.channels, index % _KINDS, 0
    return channel % c.lanes, index % _KINDS, channel // c.lanes


@inlined
def _send(c: Shape, s: State, d: Any, channel: int, now: int) -> None:
    """A beat of the burst whose turn it is."""
    record = s.channels[channel]
    if record.turn_out == record.turn_in:
        return
    turn = s.turns[channel, record.turn_out % s.turns.shape[1]]
    if record.turn_left == 0:
        if turn[0] > now or (not c.flat and d.count[channel, 1] >= c.write_queue):
            return
        record.turn_left = turn[4]
    s.writers[turn[1], turn[2], turn[3]].sending = 0
    record.turn_left -= 1
    if record.turn_left:
        return
    record.turn_out += 1
    if c.flat:
        record.written += turn[4] * c.beat_bytes
    else:
        address, last = turn[5], turn[5] + turn[4] * c.beat_bytes - 1
        accesses = last // c.access_bytes - address // c.access_bytes + 1
        record.written += accesses * c.access_bytes
        push(d, channel, 1, address // c.page_bytes, accesses, 0)
    answer = s.write_answers[channel, record.answer_in % s.write_answers.shape[1]]
    answer[0] = now + 1 + c.flat_latency
    for field in range(1, 4):
        answer[field] = turn[field]
    record.answer_in += 1


@inlined
def _grant(c: Shape, s: State, channel: int, now: int) -> None:
    """The next turn to one of the writers that have a burst."""
    record = s.channels[channel]
    count = c.channel_lanes * _KINDS
    for step in range(1, count + 1):
        index = (record.aw_mux + step) % count
        lane, kind, slot = _writer(c, channel, index)
        writer = s.writers[lane, kind, slot]
        if not writer.burst:
            continue
        turn = s.turns[channel, record.turn_in % s.turns.shape[1]]
        turn[0] = now + 2
        turn[1] = lane
        turn[2] = kind
        turn[3] = slot
        turn[4] = writer.burst_beats
        turn[5] = writer.burst_address
        writer.burst = 0
        writer.granted += writer.burst_beats
        record.turn_in += 1
        record.aw_mux = index
        return


@inlined
def _issue(s: State, t: Latency, lane: int, kind: int, slot: int, now: int) -> None:
    """A run whose beats have all come becomes a burst."""
    writer = s.writers[lane, kind, slot]
    if writer.burst or writer.run_out == writer.run_in or writer.owed == t.writes:
        return
    run = s.runs[lane, kind, slot, writer.run_out % SPANS]
    if run[0] > now or writer.stored - writer.issued < run[2]:
        return
    writer.burst = 1
    writer.burst_address = run[1]
    writer.burst_beats = run[2]
    writer.run_out += 1
    writer.issued += run[2]
    writer.owed += 1


@inlined
def store_step(c: Shape, s: State, d: Any, t: Latency, channel: int, now: int) -> None:
    """A cycle of a channel's writers."""
    _send(c, s, d, channel, now)
    count = c.channel_lanes * _KINDS
    for index in range(count):
        lane, kind, slot = _writer(c, channel, index)
        writer = s.writers[lane, kind, slot]
        if not writer.sending and writer.loaded < writer.granted:
            writer.sending = 1
            writer.loaded += 1
            writer.loaded_at = now
    _grant(c, s, channel, now)
    for index in range(count):
        lane, kind, slot = _writer(c, channel, index)
        _issue(s, t, lane, kind, slot, now)
    record = s.channels[channel]
    if record.answer_out < record.answer_in:
        answer = s.write_answers[channel, record.answer_out % s.write_answers.shape[1]]
        if answer[0] <= now:
            s.writers[answer[1], answer[2], answer[3]].owed -= 1
            record.answer_out += 1
            record.writing -= 1
