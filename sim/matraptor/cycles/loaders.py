"""Cycle model: the loaders of A and of B of a lane."""

from __future__ import annotations

from ...timing.compiled import inlined
from .bus import (
    A_ENTRIES,
    A_PAIRS,
    B_ENTRIES,
    B_PAIRS,
    VALUES,
    flat_span,
    has_beat,
    span,
    span_fits,
    take_beat,
)
from .plan import DONE, FIRST, LAST, Plan
from .state import LONG_RING, RING, Latency, Shape, State

__all__ = ["ENDS", "NOTHING", "QUEUE", "asked", "has_left", "has_room", "load_a", "load_b"]

NOTHING = -1
ENDS = 2
_OPEN, _CLOSED = 1, 2
"""Of an entry within the range of columns that waits: whether it is the last of its row of B."""
_CAME, _INSIDE, _ROW_ENDS = 16, 32, 64
"""Of what waits before the range of columns, beside ``ENDS``; see ``_came``."""
QUEUE = 3
"""Cycles through a queue of rows, from its input to its output."""


@inlined
def has_room(held: int, left_at: int, depth: int, now: int) -> bool:
    """Returns whether a queue of ``depth`` places accepts an entry. One that leaves in this cycle
    still counts."""
    return held + (left_at == now) < depth


@inlined
def _pair_blocks(c: Shape, s: State, p: Plan, lane: int, now: int) -> None:
    """Blocks of pairs of A, as far ahead as the reader allows: a row a cycle."""
    record = s.lanes[lane]
    row = record.row_block
    if row == p.row_start[lane + 1]:
        return
    if p.row_flags[row] & FIRST:
        if not span_fits(s, lane, A_PAIRS, 0):
            return
        block = record.block
        beat = p.bases[0] // c.beat_bytes + p.block_index[block] * c.burst_beats
        span(s, lane, A_PAIRS, p.block_channel[block], beat, c.burst_beats, 0, now)
        record.block = block + 1
    record.row_block = row + 1


@inlined
def _pairs_of_a(c: Shape, s: State, p: Plan, lane: int, before: int, now: int) -> None:
    """The pair of a row of A a cycle, into the skid buffer and the register before its requests.

    ``before``: the row that was first of them when the cycle began.
    """
    record = s.lanes[lane]
    row = record.row_paired
    if not has_beat(s, lane, A_PAIRS, now):
        return
    # After the last row, the rest of its block is dropped.
    if row == p.row_start[lane + 1] or s.readers[lane, A_PAIRS].popped < p.row_beat[row]:
        take_beat(c, s, lane, A_PAIRS)
        return
    held = row - before
    if held and s.paired_time[lane, before % RING] <= now:
        # That one is in the register.
        held -= 1
    if held == 2:
        return
    if p.row_flags[row] & DONE:
        take_beat(c, s, lane, A_PAIRS)
    s.paired_time[lane, row % RING] = now + 2
    record.row_paired = row + 1


@inlined
def _blocks_of_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A row of A, with a span of blocks of entries if it needs any."""
    record = s.lanes[lane]
    row = record.row
    if row == record.row_paired or s.paired_time[lane, row % RING] > now:
        return
    if not has_room(row - record.row_unpacked, record.row_left_at, t.rows_depth, now):
        return
    blocks = p.row_blocks[row]
    if blocks:
        if not span_fits(s, lane, A_ENTRIES, 0):
            return
        beat = p.bases[1] // c.beat_bytes + p.row_first[row] * c.burst_beats
        span(s, lane, A_ENTRIES, p.row_channel[row], beat, blocks * c.burst_beats, 0, now)
    s.row_time[lane, row % LONG_RING] = now + QUEUE
    record.row = row + 1


@inlined
def _entries_of_a(c: Shape, s: State, p: Plan, lane: int, now: int, before: int) -> None:
    """An entry of A, or an empty row, a cycle, into the skid buffer.

    ``before``: the token that was first of those in it when the cycle began.
    """
    record = s.lanes[lane]
    token, row = record.token_a, record.row_unpacked
    if token == p.token_start[lane + 1]:
        if has_beat(s, lane, A_ENTRIES, now):
            take_beat(c, s, lane, A_ENTRIES)
        return
    if row == record.row or s.row_time[lane, row % LONG_RING] > now:
        return
    if p.token_column[token] >= 0:
        if not has_beat(s, lane, A_ENTRIES, now):
            return
        if s.readers[lane, A_ENTRIES].popped < p.token_beat[token]:
            take_beat(c, s, lane, A_ENTRIES)
            return
    if token - before == 2:
        return
    if p.token_column[token] >= 0 and p.token_flags[token] & DONE:
        take_beat(c, s, lane, A_ENTRIES)
    s.left_time[lane, token % RING] = now + 1
    record.token_a = token + 1
    if p.token_flags[token] & LAST:
        record.row_unpacked = row + 1
        record.row_left_at = now


@inlined
def asked(s: State, t: Latency, lane: int) -> int:
    """The next token that the loader of B will take."""
    record = s.lanes[lane]
    return record.token_placed if t.place else record.token_lookup


@inlined
def has_left(c: Shape, s: State, lane: int, token: int, now: int) -> bool:
    """Returns whether a token of A is at its loader's output, or that of its lane's queue, once
    those before it are taken."""
    if c.a_csr:
        there = s.dealt_time[lane, token % s.dealt_time.shape[1]]
        return token < s.lanes[lane].token_a and there <= now
    return token < s.lanes[lane].token_a and s.left_time[lane, token % RING] <= now


@inlined
def load_a(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int, before: int) -> None:
    """A cycle of the loader of A. ``before``: the token after those that had been taken from it
    when the cycle began."""
    row = s.lanes[lane].row
    _entries_of_a(c, s, p, lane, now, before)
    _blocks_of_a(c, s, p, t, lane, now)
    _pairs_of_a(c, s, p, lane, row, now)
    _pair_blocks(c, s, p, lane, now)


@inlined
def _place(s: State, t: Latency, lane: int, now: int) -> None:
    """An entry of A into the division by a number of channels that is no power of two."""
    record = s.lanes[lane]
    token = record.token_placed
    if token - record.token_lookup < t.place:
        s.placed_time[lane, token % RING] = now + t.place
        record.token_placed = token + 1
        record.token_taken_at = now


@inlined
def _look_up(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int, offered: bool) -> None:
    """An entry of A to the request for the pair of its row of B."""
    record = s.lanes[lane]
    token = record.token_lookup
    if t.place:
        if token == record.token_placed or s.placed_time[lane, token % RING] > now:
            return
    elif not offered:
        return
    if not has_room(token - record.token_row, record.row_taken_at, t.context_depth, now):
        return
    column = p.ask_column[token]
    if column >= 0:
        if not span_fits(s, lane, B_PAIRS, 0):
            return
        if c.b_csr:
            flat_span(c, s, lane, B_PAIRS, column, 2, c.block_pointers, p.bases[2], 0, now)
        else:
            beat = (p.bases[2] + column // c.channels * 8) // c.beat_bytes
            span(s, lane, B_PAIRS, column % c.channels, beat, 1, 0, now)
    s.asked_time[lane, token % LONG_RING] = now + QUEUE
    record.token_lookup = token + 1
    if not t.place:
        record.token_taken_at = now


@inlined
def _first_pointer(c: Shape, s: State, p: Plan, lane: int, now: int) -> bool:
    """The first of the two beats that the pointers of a row of B may be in; returns whether it is
    taken in this cycle."""
    record = s.lanes[lane]
    token = record.token_row
    if token == record.token_lookup or s.asked_time[lane, token % LONG_RING] > now or record.half:
        return False
    column = p.ask_column[token]
    if column < 0 or column % c.beat_pointers < c.beat_pointers - 1:
        return False
    if not has_beat(s, lane, B_PAIRS, now):
        return False
    take_beat(c, s, lane, B_PAIRS)
    record.half = 1
    return True


@inlined
def _pairs_of_b(c: Shape, s: State, p: Plan, lane: int, now: int) -> None:
    """A row of B and its pair."""
    record = s.lanes[lane]
    token = record.token_row
    if token == record.token_lookup or s.asked_time[lane, token % LONG_RING] > now:
        return
    if p.ask_column[token] >= 0:
        if not has_beat(s, lane, B_PAIRS, now):
            return
        take_beat(c, s, lane, B_PAIRS)
    record.half = 0
    record.described = token
    record.token_row = token + 1
    record.row_taken_at = now


@inlined
def _rows_of_b(c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int) -> None:
    """A row of B to a span of its beats; an empty one goes, unless a row of A ends with it."""
    record = s.lanes[lane]
    token = record.described
    if token < 0:
        return
    column = p.ask_column[token]
    length = p.b_read[column] if column >= 0 else 0
    if length > 0 or p.ask_flags[token] & LAST:
        held = record.kept_in - record.kept_out
        if not has_room(held, record.kept_out_at, t.context_depth, now):
            return
        if length > 0:
            if not span_fits(s, lane, B_ENTRIES, c.flat_stages):
                return
            if c.b_apart and not span_fits(s, lane, VALUES, c.flat_stages):
                return
            first = p.b_pointer[column]
            if c.b_csr:
                words = c.block_columns if c.b_apart else c.block_entries
                flat_span(c, s, lane, B_ENTRIES, first, length, words, p.bases[3],
                          c.flat_stages, now)  # fmt: skip
                if c.b_apart:
                    flat_span(c, s, lane, VALUES, first, length, c.block_values, p.bases[7],
                              c.flat_stages, now)  # fmt: skip
            else:
                beat = first // c.beat_entries
                beats = (first + length - 1) // c.beat_entries + 1 - beat
                beat += p.bases[3] // c.beat_bytes
                span(s, lane, B_ENTRIES, column % c.channels, beat, beats, c.flat_stages, now)
        s.kept[lane, record.kept_in % LONG_RING] = token
        s.kept_time[lane, record.kept_in % LONG_RING] = now + QUEUE
        record.kept_in += 1
    record.described = -1


@inlined
def _entries_of_b(c: Shape, s: State, p: Plan, lane: int, now: int) -> int:
    """An entry of B, or the end of a row of A, a cycle."""
    record = s.lanes[lane]
    if record.kept_out == record.kept_in:
        return NOTHING
    if s.kept_time[lane, record.kept_out % LONG_RING] > now:
        return NOTHING
    column = p.ask_column[s.kept[lane, record.kept_out % LONG_RING]]
    length = p.b_read[column] if column >= 0 else 0
    if length > 0:
        first, entry = p.b_pointer[column], record.entry_out
        if not has_beat(s, lane, B_ENTRIES, now):
            return NOTHING
        words = c.beat_entries
        if c.b_apart:
            if not has_beat(s, lane, VALUES, now):
                return NOTHING
            words = c.block_columns // c.burst_beats
            values = c.block_values // c.burst_beats
            if (first + entry) % values == values - 1 or entry + 1 == length:
                take_beat(c, s, lane, VALUES)
        if (first + entry) % words == words - 1 or entry + 1 == length:
            take_beat(c, s, lane, B_ENTRIES)
        record.entry_out = entry + 1
    ends = record.entry_out == length
    if ends:
        record.entry_out = 0
        record.kept_out += 1
        record.kept_out_at = now
    return ENDS * ends + (length > 0)


@inlined
def _came(c: Shape, s: State, p: Plan, lane: int, now: int) -> int:
    """What comes from memory before the range of columns, 0: nothing; else ``_CAME``, and whether
    it is an entry ``_INSIDE`` the range, ``ENDS`` a row of B, and with it a row of A:
    ``_ROW_ENDS``."""
    record = s.lanes[lane]
    token, entry = s.kept[lane, record.kept_out % LONG_RING], record.entry_out
    found = _entries_of_b(c, s, p, lane, now)
    if found == NOTHING:
        return 0
    column = p.ask_column[token]
    code = _CAME | found & ENDS
    if found & 1:
        place = entry - p.b_before[column]
        if place >= 0 and place < p.b_length[column]:
            code |= _INSIDE
    if found & ENDS and p.ask_flags[token] & LAST:
        code |= _ROW_ENDS
    return code


@inlined
def _in_range(c: Shape, s: State, p: Plan, lane: int, now: int, held: bool) -> int:
    """An entry of B within the job's range of columns: the one before that which came, as soon as
    it is known whether that is of the same row of B. ``kept_waits``: whether one waits, ``_OPEN``
    or ``_CLOSED``; ``kept_present``: whether it is one, or only ends a row of A; ``kept_came``:
    what came, see ``_came``."""
    record = s.lanes[lane]
    came = record.kept_came
    sent = NOTHING
    if not (record.kept_waits and held):
        inside = came & _INSIDE
        if record.kept_waits == _CLOSED or (record.kept_waits and inside):
            sent = record.kept_present
            record.kept_waits = 0
        if inside:
            record.kept_waits = _CLOSED if came & ENDS else _OPEN
            record.kept_present = 1
        elif came & ENDS:
            if record.kept_waits:
                record.kept_waits = _CLOSED
            elif came & _ROW_ENDS:
                record.kept_waits = _CLOSED
                record.kept_present = 0
        record.kept_came = 0
    if not record.kept_came:
        record.kept_came = _came(c, s, p, lane, now)
    return sent


@inlined
def load_b(
    c: Shape, s: State, p: Plan, t: Latency, lane: int, now: int, offered: bool, held: bool
) -> int:
    """A cycle of the loader of B.

    ``offered``: whether the token that it takes next is there; ``held``: whether the last one that
    it has sent is still at its output. Returns what it sends: NOTHING, or whether it is an entry
    (else the end of a row of A), and ENDS if a row of B ends with it.
    """
    sent = NOTHING
    if c.ranged:
        sent = _in_range(c, s, p, lane, now, held)
    elif not held:
        sent = _entries_of_b(c, s, p, lane, now)
    _rows_of_b(c, s, p, t, lane, now)
    if not (c.b_csr and _first_pointer(c, s, p, lane, now)) and s.lanes[lane].described < 0:
        _pairs_of_b(c, s, p, lane, now)
    _look_up(c, s, p, t, lane, now, offered)
    if t.place and offered:
        _place(s, t, lane, now)
    return sent
