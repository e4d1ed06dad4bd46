"""The reads of MatRaptor's lanes and their order: everything that structure alone determines.

Each of a lane's streams has a fixed sequence (blocks of pairs, blocks of entries, entries of A,
rows of B), so that the cycle model only counts how far each stage of the lane has come.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.c2sr import COLUMN_BYTES, PAIR_BYTES, POINTER_BYTES
from ....hw.spec.matraptor import MatRaptorConfig

__all__ = [
    "DONE",
    "FIRST",
    "LAST",
    "Places",
    "Plan",
    "canonical",
    "in_csr",
    "in_range",
    "packed",
    "plan",
    "starts",
]

Ints = npt.NDArray[np.int64]
FIRST, DONE, LAST = 4, 2, 1
"""Flags: first row of a lane in its block of pairs; last word that is taken of its beat; last token
of a row."""
_OPERANDS = ("a_pairs", "a_entries", "b_pairs", "b_entries", "c_pairs", "c_entries", "a_values",
             "b_values")  # fmt: skip


class Places(NamedTuple):
    """Offsets of each row of the left operand and of B in its channel, in entries; of those that
    ``csr`` names, "a" and "b", in all entries, which are at consecutive addresses; capital letters:
    their columns and values are apart."""

    left: Ints
    right: Ints
    csr: str = ""

    def words(self, name: str, config: MatRaptorConfig) -> tuple[int, ...]:
        """Bytes of the words of an operand's entries in CSR, of one array or of two."""
        if name.upper() in self.csr:
            return COLUMN_BYTES, config.format.bits // 8
        return (config.layout.entry_bytes,)


class Plan(NamedTuple):
    """Sequences of all lanes, one lane after the other, for compiled code; the ``*_start`` arrays
    say where a lane's begin, and have one element more than there are lanes.

    ``block_*``: blocks of pairs of A (channel, block within the channel's array). ``row_*``: rows
    in the order of the walk (number, slot, flags; beat in which its pair comes; blocks of entries
    read for it: channel, first, number). ``token_*``: entries of A and empty rows (column or -1,
    flags, beat in which it comes). ``ask_*``: rows of B that are asked for, and ends of rows of A
    (column or -1, flags). ``c_*``: rows of C (number, slot). By rows these are the tokens, and the
    rows of A. ``b_*``: rows of B (entries in the range of columns, all, those before the range,
    pointer), where their entries in the range begin, and columns.
    ``bases``: where each operand begins in a channel, in bytes. ``stream_*``: of A in CSR, in
    order; rows (blocks of entries read for it: first, number) and tokens (also their lanes);
    ``value_*``: the same of its values, if these are apart.
    """

    block_start: Ints
    block_channel: Ints
    block_index: Ints
    row_start: Ints
    row_number: Ints
    row_slot: Ints
    row_beat: Ints
    row_flags: Any
    row_channel: Ints
    row_first: Ints
    row_blocks: Ints
    token_start: Ints
    token_column: Ints
    token_flags: Any
    token_beat: Ints
    ask_start: Ints
    ask_column: Ints
    ask_flags: Any
    c_start: Ints
    c_number: Ints
    c_slot: Ints
    b_length: Ints
    b_read: Ints
    b_before: Ints
    b_pointer: Ints
    b_start: Ints
    b_columns: Any
    bases: Ints
    stream_first: Ints
    stream_blocks: Ints
    stream_column: Ints
    stream_flags: Any
    stream_beat: Ints
    stream_lane: Ints
    value_first: Ints
    value_blocks: Ints
    value_flags: Any
    value_beat: Ints


def canonical(matrix: Any) -> csr_array:
    """CSR with ascending columns and without duplicates (summed); explicit zeros stay."""
    result = csr_array(matrix, copy=True)
    result.sum_duplicates()
    return result


def pointers(lengths: Ints, channels: int) -> Ints:
    """Returns the offset of each row in its channel, in entries."""
    result = np.zeros_like(lengths)
    for channel in range(channels):
        own = lengths[channel::channels]
        result[channel::channels] = np.cumsum(own) - own
    return result


def packed(a: csr_array, b: csr_array, channels: int) -> Places:
    """Rows of a channel one behind the other."""
    left, right = (np.diff(m.indptr).astype(np.int64) for m in (a, b))
    return Places(pointers(left, channels), pointers(right, channels))


def in_csr(a: csr_array, b: csr_array, *, apart: bool = False) -> Places:
    """Both operands in CSR; ``apart``: their columns and values."""
    left, right = (m.indptr[:-1].astype(np.int64) for m in (a, b))
    return Places(left, right, "AB" if apart else "ab")


def starts(counts: Any) -> Ints:
    """Returns the offset of each part in a concatenation, followed by the total."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def ranges(lengths: Ints) -> Ints:
    """0, 1, ... ``length - 1`` for each length, concatenated."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) - np.repeat(ends - lengths, lengths)


def _walk(config: MatRaptorConfig, rows: int, *, csr: bool) -> tuple[Ints, Ints, Ints, Ints]:
    """Rows in the lanes' order; their lanes, slots and blocks of pairs."""
    row = np.arange(rows, dtype=np.int64)
    lane, slot = row % config.lanes, row % config.channels // config.lanes
    block = row // config.channels // config.layout.block_pairs
    order = np.lexsort((row, lane) if csr else (row, slot, block, lane))
    return row[order], lane[order], slot[order], block[order]


def _first_of_runs(*keys: Ints) -> Any:
    """Returns a mask of the places where any of the keys changes."""
    first = np.ones(len(keys[0]), bool)
    if len(first):
        first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return first


def _blocks(
    config: MatRaptorConfig,
    lengths: Ints,
    ptr: Ints,
    lane: Ints,
    channel: Ints,
    per_block: int | None = None,
) -> Any:
    """First block of entries and number of blocks that are read for each row of the walk, with so
    many entries in a block."""
    per_block = per_block or config.layout.block_entries
    first = ptr // per_block
    last = np.where(lengths > 0, (ptr + lengths - 1) // per_block, first - 1)
    count = last - first + 1
    filled = np.flatnonzero(lengths)
    before, here = filled[:-1], filled[1:]
    held = (
        (lane[before] == lane[here])
        & (channel[before] == channel[here])
        & (last[before] == first[here])
        & (ptr[before] < ptr[here])
    )
    shared = here[held]
    first[shared] += 1
    count[shared] -= 1
    return first, count


def plan(
    config: MatRaptorConfig,
    a: csr_array,
    b: csr_array,
    places: Places,
    rows: int | None = None,
    columns: tuple[int, int] | None = None,
) -> Plan:
    """Lay out the work of a product by rows.

    ``places``: where the operands are; ``rows``: of C, if they are not those of A; lanes that have
    none of them read nothing. ``columns``: begin and end of the job's range of columns; None: all.
    """
    layout, channels = config.layout, config.channels
    lengths = np.diff(a.indptr).astype(np.int64)
    rows = a.shape[0] if rows is None else rows
    walked = _walk(config, a.shape[0], csr="a" in places.csr.lower())
    row, lane, slot, block = (each[walked[1] < rows] for each in walked)
    channel = row % channels
    first_of_block = _first_of_runs(lane, slot, block)
    beats = config.burst_beats
    block_lane, block_number = lane[first_of_block], np.cumsum(first_of_block) - 1
    block_start = starts(np.bincount(block_lane, minlength=config.lanes))
    within = row // channels % layout.block_pairs * PAIR_BYTES // config.beat_bytes
    row_beat = (block_number - block_start[lane]) * beats + within

    row_flags = np.where(first_of_block, FIRST, 0) | np.where(_pair_done(config, row), DONE, 0)

    own = lengths[row]
    ptr = places.left[row]
    first, blocks = _blocks(config, own, ptr, lane, channel)
    tokens = np.maximum(own, 1)
    row_start = starts(np.bincount(lane, minlength=config.lanes))
    token_end = np.cumsum(tokens)
    token_start = np.concatenate(([0], token_end))[row_start].astype(np.int64)
    column, beat, flags = _tokens(config, a, row, own, ptr, lane, blocks, first)
    flags[token_end - 1] |= LAST

    b_read = np.diff(b.indptr).astype(np.int64)
    before, b_length = in_range(b, columns)
    return Plan(
        block_start=block_start,
        block_channel=channel[first_of_block],
        block_index=block[first_of_block],
        row_start=row_start,
        row_number=row,
        row_slot=slot,
        row_beat=row_beat,
        row_flags=row_flags,
        row_channel=channel,
        row_first=first,
        row_blocks=blocks,
        token_start=token_start,
        token_column=column,
        token_flags=flags,
        token_beat=beat,
        ask_start=token_start,
        ask_column=column,
        ask_flags=flags,
        c_start=row_start,
        c_number=row,
        c_slot=slot,
        b_length=b_length,
        b_read=b_read,
        b_before=before,
        b_pointer=places.right,
        b_start=b.indptr[:-1].astype(np.int64) + before,
        b_columns=b.indices.astype(np.int32),
        bases=_bases(config, rows, lengths, b_read, places),
        **_stream(config, a, places),
    )


def _stream(config: MatRaptorConfig, a: csr_array, places: Places) -> dict[str, Any]:
    """The sequences of A in CSR; nothing if it is in C2SR."""
    lengths = np.diff(a.indptr).astype(np.int64)
    if "a" not in places.csr.lower():
        lengths = lengths[:0]
    row, one = np.arange(len(lengths)), np.zeros_like(lengths)
    start = places.left[: len(lengths)]
    tokens, found = np.maximum(lengths, 1), []
    for word in places.words("a", config):
        words = config.interleave // word
        first, blocks = _blocks(config, lengths, start, one, one, words)
        column, beat, flags = _tokens(config, a, row, lengths, start, one, blocks, first, words)
        flags[np.cumsum(tokens) - 1] |= LAST
        found.append((first, blocks, flags, beat))
    (first, blocks, flags, beat), values = found[0], found[-1]
    return {
        "stream_first": first,
        "stream_blocks": blocks,
        "stream_column": column,
        "stream_flags": flags,
        "stream_beat": beat,
        "stream_lane": np.repeat(row % config.lanes, tokens),
        **dict(
            zip(("value_first", "value_blocks", "value_flags", "value_beat"), values, strict=True)
        ),
    }


def in_range(b: csr_array, columns: tuple[int, int] | None) -> tuple[Ints, Ints]:
    """Returns for each row of a canonical array the entries before a range of columns, and in it;
    None: all columns. A range that ends before it begins has none."""
    if columns is None:
        return np.zeros(b.shape[0], np.int64), np.diff(b.indptr).astype(np.int64)
    low, high = columns[0], max(columns)
    below = (starts(b.indices < column)[b.indptr] for column in (low, high))
    before, upto = (np.diff(found) for found in below)
    return before, upto - before


def _pair_done(config: MatRaptorConfig, row: Ints) -> Any:
    """Returns whether the pair of the lane's next row lies in another beat."""
    beat_pairs = config.beat_bytes // PAIR_BYTES
    return row // config.channels % beat_pairs >= beat_pairs - config.channel_lanes


def _tokens(
    config: MatRaptorConfig,
    a: csr_array,
    row: Ints,
    own: Ints,
    ptr: Ints,
    lane: Ints,
    blocks: Ints,
    first: Ints,
    per_block: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """Column of each token (-1: empty row), the beat of its lane's stream of entries in which it
    comes, and whether it is the last of that beat."""
    tokens = np.maximum(own, 1)
    index = ranges(tokens)
    empty = np.repeat(own == 0, tokens)
    source = np.repeat(a.indptr[row].astype(np.int64), tokens) + index
    column = np.full(len(index), -1, np.int64)
    column[~empty] = a.indices[source[~empty]]
    # The lane's number of the block in which a row begins: one less if it is held from before.
    read = np.cumsum(blocks) - blocks
    lane_first = np.concatenate(([0], np.cumsum(blocks)))[
        starts(np.bincount(lane, minlength=config.lanes))
    ]
    number = read - lane_first[lane]
    place = np.repeat(ptr, tokens) + index
    per_block = per_block or config.layout.block_entries
    per_beat = per_block // config.burst_beats
    ahead = place // per_block - np.repeat(first, tokens)
    within = place % per_block // per_beat
    beat = (np.repeat(number, tokens) + ahead) * config.burst_beats + within
    beat[empty] = -1
    done = place % per_beat == per_beat - 1
    return column, beat, np.where(done & ~empty, DONE, 0)


def _bases(
    config: MatRaptorConfig, rows: int, a_length: Ints, b_length: Ints, places: Places
) -> Ints:
    """Operands one after the other, each from a block of the interleaving on."""
    layout, channels = config.layout, config.channels

    def most(name: str, lengths: Ints, pointers: Ints) -> list[int]:
        """Bytes of entries, or of columns, and of values."""
        ends = np.where(lengths > 0, pointers + lengths, 0)
        shared = channels if name in places.csr.lower() else 1
        sizes = [
            -(-int(ends.max(initial=0)) * word // shared) for word in places.words(name, config)
        ]
        return [*sizes, 0][:2]

    def pairs(name: str, rows: int) -> int:
        if name in places.csr.lower():
            return -(-POINTER_BYTES * (rows + 1) // channels)
        return -(-rows // channels) * PAIR_BYTES

    of_a, of_b = most("a", a_length, places.left), most("b", b_length, places.right)
    sizes = (pairs("a", len(a_length)), *of_a, pairs("b", len(b_length)), *of_b, pairs("c", rows))
    # In the order of memory: values, if they are apart, are behind their columns.
    order = [0, 1, 6, 2, 3, 7, 4, 5]
    bases = np.zeros(len(_OPERANDS), np.int64)
    for before, size in enumerate(sizes):
        blocks = -(-size // layout.interleave)
        bases[order[before + 1]] = bases[order[before]] + blocks * layout.interleave
    return bases
