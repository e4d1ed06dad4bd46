"""Cycle model: the row writer of a lane."""

from __future__ import annotations

from typing import Any

from ...timing.compiled import inlined
from ...timing.dram import push
from .plan import Plan
from .request_log import log_request
from .state import RING, SPANS, WORDS, Latency, Shape, State

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
    log_request(s, now, channel, turn[5], turn[4] * c.beat_bytes, 1)
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
            s.caches[channel].drops_at = now + 1
            record.answer_out += 1
            record.writing -= 1


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
    word = s.words[lane, kind, s.word_out[lane, kind] % WORDS]
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
    word = s.words[lane, kind, s.word_in[lane, kind] % WORDS]
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
def write_rows(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A cycle of the writer: it takes a result, if it can."""
    record = s.lanes[lane]
    waiting, full = False, False
    for kind in range(2):
        on_way = s.word_in[lane, kind] - s.word_out[lane, kind]
        waiting |= on_way > 0
        full |= on_way == WORDS
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
        return
    number = record.results_out
    if number == record.results_made:
        return
    token = s.result_step[lane, number % RING]
    # A skid buffer that is full at the beginning of a cycle takes nothing in it.
    if full:
        return
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
