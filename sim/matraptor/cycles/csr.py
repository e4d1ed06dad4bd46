"""Cycle model: the reader of A in CSR, which serves all lanes."""

from __future__ import annotations

from ...timing.compiled import inlined
from .bus import A_ENTRIES, A_PAIRS, VALUES, flat_span, has_beat, span_fits, take_beat
from .loaders import QUEUE, asked, has_room
from .plan import DONE, LAST, Plan
from .state import LONG_RING, RING, Latency, Shape, State

__all__ = ["load_stream"]


@inlined
def _pointer_blocks(c: Shape, s: State, p: Plan, now: int) -> None:
    """A block of A's pointers a cycle, as far ahead as the reader allows."""
    record = s.lanes[c.lanes]
    block = record.row_block
    if block * c.block_pointers > len(p.stream_blocks):
        return
    if span_fits(s, c.lanes, A_PAIRS, 0):
        flat_span(c, s, c.lanes, A_PAIRS, block * c.block_pointers, c.block_pointers,
                  c.block_pointers, p.bases[0], 0, now)  # fmt: skip
        record.row_block = block + 1


@inlined
def _pointers(c: Shape, s: State, p: Plan, before: int, now: int) -> None:
    """A pointer of A a cycle, and but for the first one a row into the skid buffer and the register
    before its requests; beats after the last one are dropped.

    ``before``: the row that was first of them when the cycle began.
    """
    record = s.lanes[c.lanes]
    if not has_beat(s, c.lanes, A_PAIRS, now):
        return
    number, row = record.block, record.row_paired
    if number > len(p.stream_blocks):
        take_beat(c, s, c.lanes, A_PAIRS)
        return
    if number:
        held = row - before
        if held and s.paired_time[c.lanes, before % RING] <= now:
            held -= 1
        if held == 2:
            return
        s.paired_time[c.lanes, row % RING] = now + 2
        record.row_paired = row + 1
    if number % c.beat_pointers == c.beat_pointers - 1:
        take_beat(c, s, c.lanes, A_PAIRS)
    record.block = number + 1


@inlined
def _blocks(c: Shape, s: State, p: Plan, t: Latency, now: int) -> None:
    """A row of A, with a span of blocks of entries if it needs any."""
    record = s.lanes[c.lanes]
    row = record.row
    if row == record.row_paired or s.paired_time[c.lanes, row % RING] > now:
        return
    if not has_room(row - record.row_unpacked, record.row_left_at, t.stream_rows_depth, now):
        return
    blocks, others = p.stream_blocks[row], p.value_blocks[row] if c.a_apart else 0
    if blocks and not span_fits(s, c.lanes, A_ENTRIES, c.flat_stages):
        return
    if others and not span_fits(s, c.lanes, VALUES, c.flat_stages):
        return
    if blocks:
        words = c.block_columns if c.a_apart else c.block_entries
        flat_span(c, s, c.lanes, A_ENTRIES, p.stream_first[row] * words, blocks * words, words,
                  p.bases[1], c.flat_stages, now)  # fmt: skip
    if others:
        words = c.block_values
        flat_span(c, s, c.lanes, VALUES, p.value_first[row] * words, others * words, words,
                  p.bases[6], c.flat_stages, now)  # fmt: skip
    s.row_time[c.lanes, row % LONG_RING] = now + QUEUE
    record.row = row + 1


@inlined
def _reaches(c: Shape, s: State, unit: int, beat: int, now: int) -> bool:
    """Returns whether a beat of the stream is at its reader's output; one before it is dropped."""
    if not has_beat(s, c.lanes, unit, now):
        return False
    if s.readers[c.lanes, unit].popped < beat:
        take_beat(c, s, c.lanes, unit)
        return False
    return True


@inlined
def _entries(c: Shape, s: State, p: Plan, before: int, now: int) -> None:
    """An entry of A, or an empty row, a cycle, into the skid buffer before the dealer.

    ``before``: the token that was first of those in it when the cycle began.
    """
    record = s.lanes[c.lanes]
    token, row = record.token_a, record.row_unpacked
    if token == len(p.stream_column):
        for unit in (A_ENTRIES, VALUES):
            if has_beat(s, c.lanes, unit, now):
                take_beat(c, s, c.lanes, unit)
        return
    if row == record.row or s.row_time[c.lanes, row % LONG_RING] > now:
        return
    filled = p.stream_column[token] >= 0
    if filled:
        here = _reaches(c, s, A_ENTRIES, p.stream_beat[token], now)
        if c.a_apart:
            here &= _reaches(c, s, VALUES, p.value_beat[token], now)
        if not here:
            return
    if token - before == 2:
        return
    if filled and p.stream_flags[token] & DONE:
        take_beat(c, s, c.lanes, A_ENTRIES)
    if c.a_apart and filled and p.value_flags[token] & DONE:
        take_beat(c, s, c.lanes, VALUES)
    s.left_time[c.lanes, token % RING] = now + 1
    record.token_a = token + 1
    if p.stream_flags[token] & LAST:
        record.row_unpacked = row + 1
        record.row_left_at = now


@inlined
def _deal(c: Shape, s: State, p: Plan, t: Latency, now: int) -> None:
    """A token into the queue of its row's lane."""
    record = s.lanes[c.lanes]
    token = record.token_placed
    if token == record.token_a or s.left_time[c.lanes, token % RING] > now:
        return
    lane = p.stream_lane[token]
    target = s.lanes[lane]
    number = target.token_a
    if has_room(number - asked(s, t, lane), target.token_taken_at, t.stream_depth, now):
        s.dealt_time[lane, number % s.dealt_time.shape[1]] = now + QUEUE
        target.token_a = number + 1
        record.token_placed = token + 1


@inlined
def load_stream(c: Shape, s: State, p: Plan, t: Latency, now: int) -> None:
    """A cycle of the reader of A in CSR, after those of all lanes."""
    row, token = s.lanes[c.lanes].row, s.lanes[c.lanes].token_placed
    _deal(c, s, p, t, now)
    _entries(c, s, p, token, now)
    _blocks(c, s, p, t, now)
    _pointers(c, s, p, row, now)
    _pointer_blocks(c, s, p, now)
