"""Cycle model: the row writer of a lane."""

from __future__ import annotations

from ...timing.compiled import inlined
from .plan import Plan
from .state import RING, SPANS, Latency, Shape, State

__all__ = ["write_rows"]

_PAIRS, _ENTRIES = range(2)
_BEAT_ENDS, _RUN_ENDS = 1, 2
_REGION = 1 << 24
"""Bytes between the beginnings of the regions of lanes that share a channel: any number will do
that keeps them apart."""


@inlined
def _pass_on(c: Shape, s: State, t: Latency, lane: int, kind: int, slot: int, now: int) -> None:
    """Moves data from a packer's registers to the burst writer of its channel."""
    writer = s.writers[lane, kind, slot]
    if writer.beat_ready:
        # Data that leave the buffer in this cycle still count.
        held = writer.stored - writer.loaded + (writer.loaded_at == now)
        if held <= t.buffer_depth:
            writer.stored += 1
            writer.beat_ready = 0
            s.lanes[lane].packed -= 1
    if writer.run_ready and writer.run_in - writer.run_out < SPANS:
        run = s.runs[lane, kind, slot, writer.run_in % SPANS]
        run[0] = now + SPANS
        run[1] = writer.run_address
        run[2] = writer.run_beats
        writer.run_in += 1
        writer.run_ready = 0
        s.lanes[lane].packed -= 1
        channel = lane % c.channels + (c.lanes * slot if c.channels > c.lanes else 0)
        s.channels[channel].writing += 1


@inlined
def _close(s: State, lane: int, kind: int, slot: int, ends: int) -> None:
    """The packer's beat, and perhaps its run, into its registers."""
    writer = s.writers[lane, kind, slot]
    if writer.filled:
        writer.filled = 0
        writer.beats += 1
        writer.beat_ready = 1
        s.lanes[lane].packed += 1
    if ends & _RUN_ENDS:
        writer.run_ready = 1
        writer.run_address = writer.address
        writer.run_beats = writer.beats
        writer.open = 0
        writer.beats = 0
        s.lanes[lane].packed += 1


@inlined
def _pack(s: State, lane: int, kind: int, now: int) -> None:
    """A word into its packer."""
    word = s.words[lane, kind, s.word_out[lane, kind] % SPANS]
    if s.word_out[lane, kind] == s.word_in[lane, kind] or word[0] > now:
        return
    slot = word[1]
    writer = s.writers[lane, kind, slot]
    if writer.beat_ready or writer.run_ready:
        return
    s.word_out[lane, kind] += 1
    if not writer.open:
        writer.open = 1
        writer.address = word[2]
    writer.filled = 1
    if word[3]:
        _close(s, lane, kind, slot, word[3])


@inlined
def _put(
    c: Shape, s: State, lane: int, kind: int, slot: int, base: int, number: int, now: int
) -> None:
    """A word with its number in its array on its way."""
    step = c.channel_lanes if kind == _PAIRS else 1
    word_bytes = 8 if kind == _PAIRS else c.entry_bytes
    words, block_words = c.beat_bytes // word_bytes, c.interleave // word_bytes
    here = number % block_words
    beat, following = here // words, (here + step) // words
    word = s.words[lane, kind, s.word_in[lane, kind] % SPANS]
    word[0] = now + SPANS
    word[1] = slot
    word[2] = base + number // words * c.beat_bytes
    word[3] = 0
    if following != beat:
        word[3] = _BEAT_ENDS
        if following != beat + 1 or following >= c.burst_beats:
            word[3] = _BEAT_ENDS | _RUN_ENDS
    s.word_in[lane, kind] += 1


@inlined
def _end(c: Shape, s: State, lane: int, now: int) -> None:
    """After the last row: what is in the packers goes; then all is waited for."""
    record = s.lanes[lane]
    nothing = record.packed == 0
    for kind in range(2):
        for slot in range(s.writers.shape[2]):
            writer = s.writers[lane, kind, slot]
            if writer.open and not writer.beat_ready and not writer.run_ready:
                _close(s, lane, kind, slot, _RUN_ENDS)
            if writer.open or writer.owed or writer.stored != writer.issued:
                nothing = False
    for unit in range(2):
        if s.readers[lane, unit].issued != s.readers[lane, unit].head:
            nothing = False
    if nothing and record.packed == 0:
        record.finished = 1


@inlined
def write_rows(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> bool:
    """A cycle of the writer; whether it takes what phase II offers."""
    record = s.lanes[lane]
    waiting = False
    for kind in range(2):
        waiting |= s.word_out[lane, kind] < s.word_in[lane, kind]
    if record.packed:
        for kind in range(2):
            for slot in range(s.writers.shape[2]):
                _pass_on(c, s, t, lane, kind, slot, now)
    if waiting:
        for kind in range(2):
            _pack(s, lane, kind, now)
    elif record.write_row == p.c_start[lane + 1]:
        if record.ended_at < now:
            _end(c, s, lane, now)
        return False
    number = record.results_out
    if number == record.results_in:
        return False
    token = s.result_step[lane, number % RING]
    if (token >> 2) + t.result > record.adders:
        return False
    for kind in range(2):
        if s.word_in[lane, kind] - s.word_out[lane, kind] == SPANS:
            return False
    row = record.write_row
    slot = p.c_slot[row]
    if token & 2:
        pointer = s.pointer[lane, slot]
        base = p.bases[5] + lane // c.channels * _REGION
        _put(c, s, lane, _ENTRIES, slot, base, pointer, now)
        s.pointer[lane, slot] = pointer + 1
    if token & 1:
        index = p.c_number[row] // c.channels
        _put(c, s, lane, _PAIRS, slot, p.bases[4], index, now)
        record.write_row = row + 1
        record.ended_at = now
    record.results_out = number + 1
    return True
