"""Cycle model: the row writer of a lane."""

from __future__ import annotations

from .compiled import inlined
from .matraptor_cycles_plan import Plan
from .matraptor_cycles_state import RING, Latency, Shape, State

__all__ = ["write_rows"]

_PAIRS, _ENTRIES = range(2)
_REGION = 1 << 24
"""Bytes between the beginnings of the regions of lanes that share a channel: any number will do
that keeps them apart."""


@inlined
def _send_run(c: Shape, s: State, lane: int, kind: int, slot: int, ready: int) -> None:
    """A run of beats to the burst writers of its channel."""
    channel = lane % c.channels + c.lanes * slot if c.channels > c.lanes else lane % c.channels
    record = s.channels[channel]
    place = (record.write_head + record.write_count) % s.writes.shape[1]
    beats = s.run_beats[lane, kind, slot]
    s.writes[channel, place, 0] = lane
    s.writes[channel, place, 1] = s.run_address[lane, kind, slot]
    s.writes[channel, place, 2] = beats
    s.writes[channel, place, 3] = ready
    record.write_count += 1
    s.run_open[lane, kind, slot] = 0
    s.run_beats[lane, kind, slot] = 0


@inlined
def _put(
    c: Shape, s: State, lane: int, kind: int, slot: int, base: int, number: int, ready: int
) -> None:
    """A word with its number in its array: beats fill up, runs of neighbouring beats go."""
    step = c.channel_lanes if kind == _PAIRS else 1
    word_bytes = 8 if kind == _PAIRS else c.entry_bytes
    words, block_words = c.beat_bytes // word_bytes, c.interleave // word_bytes
    here = number % block_words
    beat, following = here // words, (here + step) // words
    if not s.run_open[lane, kind, slot]:
        s.run_open[lane, kind, slot] = 1
        s.run_address[lane, kind, slot] = base + number // words * c.beat_bytes
    if not s.run_filled[lane, kind, slot]:
        s.run_filled[lane, kind, slot] = 1
        s.run_beats[lane, kind, slot] += 1
        s.lanes[lane].write_beats += 1
    if following != beat:
        s.run_filled[lane, kind, slot] = 0
        if following != beat + 1 or following >= c.burst_beats:
            _send_run(c, s, lane, kind, slot, ready)


@inlined
def _flush(c: Shape, s: State, lane: int, ready: int) -> None:
    """What is unfinished after the last row."""
    for kind in range(2):
        for slot in range(s.run_open.shape[2]):
            if s.run_open[lane, kind, slot]:
                s.run_filled[lane, kind, slot] = 0
                _send_run(c, s, lane, kind, slot, ready)


@inlined
def write_rows(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A cycle of the writer: a token."""
    record = s.lanes[lane]
    if record.write_row == p.row_start[lane + 1]:
        if not record.ended:
            record.ended = 1
            _flush(c, s, lane, now + t.write)
        elif record.write_beats == 0 and record.last_response <= now:
            record.finished = 1
        return
    number = record.results_out
    if number == record.results_in or record.write_beats >= t.write_beats:
        return
    token = s.result_time[lane, number % RING]
    if token >> 2 > now:
        return
    row = record.write_row
    slot = p.row_slot[row]
    if token & 2:
        pointer = s.pointer[lane, slot]
        base = p.bases[5] + lane // c.channels * _REGION
        _put(c, s, lane, _ENTRIES, slot, base, pointer, now + t.write)
        s.pointer[lane, slot] = pointer + 1
    if token & 1:
        index = p.row_number[row] // c.channels
        _put(c, s, lane, _PAIRS, slot, p.bases[4], index, now + t.write)
        record.write_row = row + 1
    record.results_out = number + 1
