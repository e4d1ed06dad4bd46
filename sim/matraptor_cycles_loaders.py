"""Cycle model: the loaders of A and of B of a lane."""

from __future__ import annotations

from .compiled import inlined
from .matraptor_cycles_bus import (
    A_ENTRIES,
    A_PAIRS,
    B_ENTRIES,
    B_PAIRS,
    ask,
    can_ask,
    has_beat,
    take_beat,
)
from .matraptor_cycles_plan import DONE, FIRST, LAST, Plan
from .matraptor_cycles_state import LONG_RING, RING, Latency, Shape, State

__all__ = ["load_a", "load_b"]


@inlined
def _pair_blocks(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """Blocks of pairs of A, as far ahead as the reader allows: a row a cycle."""
    record = s.lanes[lane]
    row = record.row_block
    if row == p.row_start[lane + 1]:
        return
    if p.row_flags[row] & FIRST:
        if not can_ask(c, s, lane, A_PAIRS, t.walk):
            return
        block = record.block
        address = p.bases[0] + p.block_index[block] * c.interleave
        channel = p.block_channel[block]
        ask(c, s, lane, A_PAIRS, channel, address, c.burst_beats, now + t.walk)
        record.block = block + 1
    record.row_block = row + 1


@inlined
def _pairs_of_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """The pair of a row of A a cycle, into the two stages before its requests."""
    record = s.lanes[lane]
    row = record.row_paired
    if row == p.row_start[lane + 1] or row - record.row >= 2:
        return
    if not has_beat(c, s, lane, A_PAIRS, now):
        return
    if s.readers[lane, A_PAIRS].popped < p.row_beat[row]:
        take_beat(c, s, lane, A_PAIRS)
        return
    if p.row_flags[row] & DONE:
        take_beat(c, s, lane, A_PAIRS)
    s.paired_time[lane, row % RING] = now + 2
    record.row_paired = row + 1


@inlined
def _blocks_of_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """Rows of A to requests for blocks of entries: a row, or a request, a cycle."""
    record = s.lanes[lane]
    row = record.row
    if (
        record.row_left == 0
        and row < record.row_paired
        and s.paired_time[lane, row % RING] <= now
        and row - record.row_unpacked < t.rows_depth
    ):
        record.row_left = p.row_blocks[row]
        s.row_time[lane, row % LONG_RING] = now + 2
        record.row = row = row + 1
    if record.row_left > 0 and can_ask(c, s, lane, A_ENTRIES, t.walk):
        block = p.row_first[row - 1] + p.row_blocks[row - 1] - record.row_left
        address = p.bases[1] + block * c.interleave
        channel = p.row_channel[row - 1]
        ask(c, s, lane, A_ENTRIES, channel, address, c.burst_beats, now + t.walk)
        record.row_left -= 1


@inlined
def _entries_of_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """An entry of A, or an empty row, a cycle."""
    record = s.lanes[lane]
    token, row = record.token_a, record.row_unpacked
    if row == record.row or s.row_time[lane, row % LONG_RING] > now:
        return
    if token - record.token_lookup >= t.left_depth:
        return
    if p.token_column[token] >= 0:
        if not has_beat(c, s, lane, A_ENTRIES, now):
            return
        if s.readers[lane, A_ENTRIES].popped < p.token_beat[token]:
            take_beat(c, s, lane, A_ENTRIES)
            return
        if p.token_flags[token] & DONE:
            take_beat(c, s, lane, A_ENTRIES)
    s.left_time[lane, token % RING] = now + t.left
    record.token_a = token + 1
    record.row_unpacked = row + (p.token_flags[token] & LAST)


@inlined
def load_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A cycle of the loader of A."""
    if s.lanes[lane].token_a < p.token_start[lane + 1]:
        _entries_of_a(c, s, p, t, lane, now)
        _blocks_of_a(c, s, p, t, lane, now)
        _pairs_of_a(c, s, p, t, lane, now)
        _pair_blocks(c, s, p, t, lane, now)


@inlined
def _look_up(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """An entry of A to the request for the pair of its row of B."""
    record = s.lanes[lane]
    token = record.token_lookup
    if token == record.token_a or s.left_time[lane, token % RING] > now:
        return
    if token - record.token_row >= t.context_depth:
        return
    column = p.token_column[token]
    if column >= 0:
        if not can_ask(c, s, lane, B_PAIRS, t.lookup):
            return
        place = column // c.channels * 8
        address = p.bases[2] + place // c.beat_bytes * c.beat_bytes
        ask(c, s, lane, B_PAIRS, column % c.channels, address, 1, now + t.lookup)
    s.asked_time[lane, token % LONG_RING] = now + t.lookup - t.walk + 2
    record.token_lookup = token + 1


@inlined
def _rows_of_b(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A pair to requests for its row, cut at the blocks of the interleaving: one a cycle."""
    record = s.lanes[lane]
    token = record.token_row
    if token == record.token_lookup:
        return
    if s.asked_time[lane, token % LONG_RING] > now or token - record.token_out >= t.context_depth:
        return
    column = p.token_column[token]
    if record.beat_next == record.beat_end:
        s.spans_time[lane, token % LONG_RING] = now + 3
    if column < 0:
        record.token_row = token + 1
        return
    if record.beat_next == record.beat_end:
        if not has_beat(c, s, lane, B_PAIRS, now):
            return
        take_beat(c, s, lane, B_PAIRS)
        first, length = p.b_pointer[column], p.b_length[column]
        if length == 0:
            record.token_row = token + 1
            return
        record.beat_next = first // c.beat_entries
        record.beat_end = (first + length - 1) // c.beat_entries + 1
    if not can_ask(c, s, lane, B_ENTRIES, t.beats):
        return
    beat = record.beat_next
    beats = min(record.beat_end - beat, c.burst_beats - beat % c.burst_beats)
    address = p.bases[3] + beat * c.beat_bytes
    ask(c, s, lane, B_ENTRIES, column % c.channels, address, beats, now + t.beats)
    record.beat_next = beat + beats
    if record.beat_next == record.beat_end:
        record.token_row = token + 1


@inlined
def _entries_of_b(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """An entry of B, or the end of a row of A, a cycle."""
    record = s.lanes[lane]
    token = record.token_out
    while True:
        if token == record.token_row and record.beat_next == record.beat_end:
            return
        if s.spans_time[lane, token % LONG_RING] > now:
            return
        column = p.token_column[token]
        length = p.b_length[column] if column >= 0 else 0
        if length > 0 or p.token_flags[token] & LAST:
            break
        token += 1
        record.token_out = token
    if record.products_in - record.products_out >= t.product_depth:
        return
    if length == 0:
        s.product_time[lane, record.products_in % RING] = now + t.product
        record.products_in += 1
        record.token_out = token + 1
        return
    first, entry = p.b_pointer[column], record.entry_out
    beat = (first + entry) // c.beat_entries - first // c.beat_entries
    if beat >= record.row_beats:
        if not has_beat(c, s, lane, B_ENTRIES, now):
            return
        take_beat(c, s, lane, B_ENTRIES)
        record.row_beats += 1
    s.product_time[lane, record.products_in % RING] = now + t.product
    record.products_in += 1
    record.entry_out = entry + 1
    if entry + 1 == length:
        record.entry_out = 0
        record.row_beats = 0
        record.token_out = token + 1


@inlined
def load_b(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A cycle of the loader of B."""
    if s.lanes[lane].token_out < p.token_start[lane + 1]:
        _entries_of_b(c, s, p, t, lane, now)
        _rows_of_b(c, s, p, t, lane, now)
        _look_up(c, s, p, t, lane, now)
