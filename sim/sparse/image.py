"""Sparse matrices in a device's memory: C2SR as the accelerator has it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES, C2srLayout
from ..numbers.values import Patterns
from .c2sr import C2sr, check_shape, run_indices, starts_of
from .memory_blocks import Block, Read, read_bytes

__all__ = [
    "StoredRows",
    "check_rows",
    "entries_bytes",
    "entry_type",
    "filled",
    "from_image",
    "image",
    "image_sizes",
    "pairs_bytes",
    "sorted_rows",
    "stored_rows",
    "within",
]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_PAIR = np.dtype([("length", "<u4"), ("pointer", "<u4")])
_WORD = 1 << 32


class StoredRows(NamedTuple):
    """The components of a ``C2sr`` as they lie in memory; columns are not checked."""

    lengths: Ints
    pointers: Ints
    columns: tuple[Ints, ...]
    values: tuple[Patterns, ...]


def pairs_bytes(layout: C2srLayout, rows: int) -> int:
    """Bytes of the pairs of ``rows`` rows in memory, all channels together: whole stripes."""
    return _stripes(layout, -(-rows // layout.channels) * PAIR_BYTES) * layout.stripe_bytes


def entries_bytes(layout: C2srLayout, channel_entries: int) -> int:
    """Bytes of ``channel_entries`` entries in every channel: whole stripes."""
    return _stripes(layout, channel_entries * layout.entry_bytes) * layout.stripe_bytes


def image_sizes(c2sr: C2sr) -> tuple[int, int]:
    """Bytes of a matrix in memory: of its pairs, and of its entries, gaps included."""
    layout = c2sr.layout
    return pairs_bytes(layout, c2sr.shape[0]), entries_bytes(layout, c2sr.channel_entries)


def image(c2sr: C2sr, *, pairs_base: int, entries_base: int) -> tuple[Block, Block]:
    """A matrix in memory: its pairs and its entries, zeros in between.

    Raises ValueError if a base is not a multiple of a block in every channel.
    """
    layout, channels = c2sr.layout, c2sr.layout.channels
    _check_base("pairs_base", pairs_base, layout)
    _check_base("entries_base", entries_base, layout)
    dtype = entry_type(layout)
    pairs, entries = (
        np.zeros((size // layout.stripe_bytes, channels, layout.interleave), np.uint8)
        for size in image_sizes(c2sr)
    )
    for channel in range(channels):
        mine = slice(channel, None, channels)
        lengths, pointers = c2sr.lengths[mine], c2sr.pointers[mine]
        column = np.zeros(len(pairs) * layout.block_pairs, _PAIR)
        column["length"][: len(lengths)] = lengths
        # An empty row may point to just behind the largest pointer.
        column["pointer"][: len(lengths)] = pointers & (_WORD - 1)
        pairs[:, channel] = column.view(np.uint8).reshape(-1, layout.interleave)
        column = np.zeros(len(entries) * layout.block_entries, dtype)
        where = run_indices(pointers, lengths)
        column["value"][where] = c2sr.values[channel]
        column["column"][where] = c2sr.columns[channel]
        entries[:, channel] = column.view(np.uint8).reshape(-1, layout.interleave)
    return Block(pairs_base, pairs.reshape(-1)), Block(entries_base, entries.reshape(-1))


def filled(c2sr: C2sr) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns which bytes of the blocks of :func:`image` hold a pair, or an entry, and no gap."""
    layout, channels = c2sr.layout, c2sr.layout.channels
    pairs, entries = (
        np.zeros((size // layout.stripe_bytes, channels, layout.interleave), np.bool_)
        for size in image_sizes(c2sr)
    )
    for channel in range(channels):
        mine = slice(channel, None, channels)
        lengths = c2sr.lengths[mine]
        column = np.zeros(len(pairs) * layout.interleave, np.bool_)
        column[: len(lengths) * PAIR_BYTES] = True
        pairs[:, channel] = column.reshape(-1, layout.interleave)
        column = np.zeros((len(entries) * layout.block_entries, layout.entry_bytes), np.bool_)
        column[run_indices(c2sr.pointers[mine], lengths)] = True
        entries[:, channel] = column.reshape(-1, layout.interleave)
    return pairs.reshape(-1), entries.reshape(-1)


def from_image(
    read: Read,
    layout: C2srLayout,
    shape: tuple[int, int],
    *,
    pairs_base: int,
    entries_base: int,
    channel_entries: int | None = None,
) -> C2sr:
    """The matrix at an address, with the pointers it has there.

    Parameters as for :func:`stored_rows`; raises as it does, and ValueError if the matrix is not
    valid C2SR.
    """
    rows = stored_rows(
        read,
        layout,
        shape,
        pairs_base=pairs_base,
        entries_base=entries_base,
        channel_entries=channel_entries,
    )
    return C2sr(layout=layout, shape=shape, **rows._asdict())


def stored_rows(
    read: Read,
    layout: C2srLayout,
    shape: tuple[int, int],
    *,
    pairs_base: int,
    entries_base: int,
    channel_entries: int | None = None,
) -> StoredRows:
    """The rows at an address, whatever their columns are.

    Only blocks with entries are read, in every channel at once; gaps between rows are not.

    Parameters
    ----------
    read: gives the memory's bytes
    shape: rows and columns
    channel_entries: room for entries in each channel, if it is known

    Raises
    ------
    ValueError if a base is not a multiple of a block in every channel, or a row has more entries
    than columns, or ends outside the room given.
    """
    check_shape(shape, layout)
    _check_base("pairs_base", pairs_base, layout)
    _check_base("entries_base", entries_base, layout)
    rows, channels = shape[0], layout.channels
    lengths, pointers = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    pairs = read_bytes(read, pairs_base, pairs_bytes(layout, rows))
    pairs = pairs.reshape(-1, channels, layout.interleave)
    for channel in range(channels):
        mine = slice(channel, None, channels)
        column = np.ascontiguousarray(pairs[:, channel]).reshape(-1).view(_PAIR)
        lengths[mine] = column["length"][: len(lengths[mine])]
        pointers[mine] = column["pointer"][: len(lengths[mine])]
    check_rows(lengths, pointers, shape[1], _WORD if channel_entries is None else channel_entries)

    first = pointers * layout.entry_bytes // layout.interleave
    last = ((pointers + lengths) * layout.entry_bytes - 1) // layout.interleave
    begins, ends = _joined(first[lengths > 0], last[lengths > 0] + 1)
    parts = [
        read_bytes(read, entries_base + begin * layout.stripe_bytes, count * layout.stripe_bytes)
        for begin, count in zip(begins.tolist(), (ends - begins).tolist(), strict=True)
    ]
    stripes = np.concatenate([np.zeros(0, np.uint8), *parts])
    stripes = stripes.reshape(-1, channels, layout.interleave)
    # A row's blocks are together in what was read: find its first.
    run = np.searchsorted(begins, first, side="right") - 1
    before = starts_of(ends - begins)
    moved = np.where(lengths > 0, before[run] - np.append(begins, 0)[run], 0) * layout.block_entries
    columns, values = [], []
    for channel in range(channels):
        mine = slice(channel, None, channels)
        column = np.ascontiguousarray(stripes[:, channel]).reshape(-1).view(entry_type(layout))
        found = column[run_indices((pointers + moved)[mine], lengths[mine])]
        columns.append(found["column"].astype(np.int64))
        values.append(found["value"].astype(np.uint64))
    return StoredRows(lengths, pointers, tuple(columns), tuple(values))


def sorted_rows(
    layout: C2srLayout, shape: tuple[int, int], stored: StoredRows
) -> tuple[C2sr, npt.NDArray[np.bool_]]:
    """The matrix with nothing in rows whose columns do not ascend, and which those are."""
    channels = layout.channels
    unsorted = np.zeros(shape[0], np.bool_)
    columns, values = list(stored.columns), list(stored.values)
    for channel in range(channels):
        rows = np.repeat(np.arange(channel, shape[0], channels), stored.lengths[channel::channels])
        falls = (columns[channel][1:] <= columns[channel][:-1]) & (rows[1:] == rows[:-1])
        unsorted[rows[1:][falls]] = True
        good = ~unsorted[rows]
        columns[channel], values[channel] = columns[channel][good], values[channel][good]
    matrix = C2sr(
        layout=layout,
        shape=shape,
        lengths=np.where(unsorted, 0, stored.lengths),
        pointers=stored.pointers,
        columns=tuple(columns),
        values=tuple(values),
    )
    return matrix, unsorted


def within(layout: C2srLayout, stored: StoredRows, columns: tuple[int, int]) -> StoredRows:
    """The rows without their entries outside a range of columns, begin and end."""
    lengths = stored.lengths.copy()
    parts, values = [], []
    for channel in range(layout.channels):
        found = stored.columns[channel]
        kept = (found >= columns[0]) & (found < columns[1])
        starts = starts_of(stored.lengths[channel :: layout.channels])
        lengths[channel :: layout.channels] = np.diff(starts_of(kept.astype(np.int64))[starts])
        parts.append(found[kept])
        values.append(stored.values[channel][kept])
    return StoredRows(lengths, stored.pointers, tuple(parts), tuple(values))


def entry_type(layout: C2srLayout) -> np.dtype[np.void]:
    """A (value, column) entry in memory."""
    value = layout.format.bits // 8
    return np.dtype(
        {
            "names": ["value", "column"],
            "formats": [f"<u{value}", f"<u{layout.index_bits // 8}"],
            "offsets": [0, value],
            "itemsize": layout.entry_bytes,
        }
    )


def _stripes(layout: C2srLayout, channel_bytes: int) -> int:
    return -(-channel_bytes // layout.interleave)


def _check_base(name: str, base: int, layout: C2srLayout) -> None:
    if base < 0 or base % layout.stripe_bytes:
        raise ValueError(f"`{name}` must be a multiple of {layout.stripe_bytes}, not {base:#x}")


def check_rows(lengths: Ints, pointers: Ints, cols: int, room: int) -> None:
    """Lengths and pointers of rows, before anything is read or allocated for them."""
    if len(lengths) and lengths.max() > cols:
        row = int(lengths.argmax())
        raise ValueError(f"row {row} must have at most {cols} entries, not {lengths[row]}")
    ends = np.where(lengths > 0, pointers + lengths, 0)
    if ends.max(initial=0) > room:
        row = int(ends.argmax())
        raise ValueError(f"row {row} must end within {room} entries, not at {ends[row]}")


def _joined(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Disjoint ranges, in order, that cover the same as the given ones."""
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    new = np.ones(len(begins), np.bool_)
    new[1:] = begins[1:] > ends[:-1]
    last = np.roll(new, -1)
    return begins[new], ends[last]
