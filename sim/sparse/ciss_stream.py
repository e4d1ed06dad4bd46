"""Decodes the slots of a CISS stream and checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout

__all__ = ["Slices", "headers", "read_slices", "slot_type"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.void]


def slot_type(layout: CissLayout) -> np.dtype[np.void]:
    """A slot as it is in memory: ``value``, and ``index`` of ``order - 1``."""
    value, index = layout.format.bits // 8, layout.index_bits // 8
    return np.dtype([("value", f"<u{value}"), ("index", f"<u{index}", (layout.order - 1,))])


def headers(slots: Slots, layout: CissLayout) -> Bools:
    """Returns which slots are headers, no-ops included."""
    if layout.marker == "zero":
        found: Bools = slots["value"] == 0
    else:
        found = slots["index"][..., 0] >> np.uint32(layout.number_bits) != 0
    return found


class Slices(NamedTuple):
    """The slices of a stream, ascending: each one's index, where its first value is, and how many
    values it has. A place counts slots row by row: slot ``p`` of entry ``e`` is at
    ``p * entries + e``."""

    numbers: Ints
    begins: Ints
    lengths: Ints


def read_slices(slots: Slots, layout: CissLayout, shape: tuple[int, ...]) -> Slices:
    """The slices of a stream (entries, rows) whose tensor has this shape, slices first.

    Raises ValueError that names the first entry and slot of the stream that is wrong.
    """
    if not len(slots):
        raise ValueError("a stream must have an entry that ends it")
    found = _Stream(slots, layout)
    found.check(shape)
    chosen = np.flatnonzero(found.named)
    chosen = chosen[np.argsort(found.numbers[chosen], kind="stable")]
    return Slices(found.numbers[chosen], found.at[chosen] + 1, found.lengths[chosen])


_Fault = tuple[Ints, Callable[[int], str]]
"""Places that are wrong in one way, and what is wrong with one of them."""


class _Stream:
    """The slots of a stream, row by row.

    heads: which slots are headers; at, numbers, named, lengths: of each header its place, its
    slice, whether it is no no-op, and how many slots are between it and the next.
    """

    def __init__(self, slots: Slots, layout: CissLayout) -> None:
        self.slots, self.layout = slots, layout
        self.heads = headers(slots, layout).T.reshape(-1)
        self.at = np.flatnonzero(self.heads)
        self.numbers = self.field("index", 0)[self.at].astype(np.int64) & layout.largest_index
        self.named = self.numbers != layout.largest_index
        self.lengths = np.diff(self.at, append=self.heads.size) - 1

    def field(self, name: str, number: int | None = None) -> npt.NDArray[Any]:
        """A field of all slots, row by row."""
        found = self.slots[name] if number is None else self.slots[name][..., number]
        return np.ascontiguousarray(found.T).reshape(-1)

    def in_stream(self, places: Ints) -> Ints:
        """Returns the positions of slots in the stream."""
        entries, rows = self.slots.shape
        return places % entries * rows + places // entries

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse a stream for the first slot that is wrong; of what is wrong with it, for the first
        that is looked for. What is found behind a row's first wrong slot means nothing."""
        first: tuple[int, Callable[[int], str]] | None = None
        for places, say in self.faults(shape):
            if len(places):
                where = int(self.in_stream(places).min())
                if first is None or where < first[0]:
                    first = where, say
        if first is not None:
            entries, rows = self.slots.shape
            entry, slot = divmod(first[0], rows)
            raise ValueError(f"entry {entry}, slot {slot}: {first[1](slot * entries + entry)}")

    def faults(self, shape: tuple[int, ...]) -> Iterator[_Fault]:
        yield from self.faults_of_rows()
        yield from self.faults_of_slices(shape[0])
        yield from self.faults_of_values(shape[1:])
        entries, rows = self.slots.shape
        lasts = np.arange(1, rows + 1) * entries - 1
        ended = self.heads[lasts]
        ended[ended] = ~self.named[np.searchsorted(self.at, lasts[ended])]
        yield lasts[~ended], lambda _: "the last entry must be of no-ops"

    def faults_of_rows(self) -> Iterator[_Fault]:
        """Yields the faults of rows: of first slots, of slots after the end, of header fields."""
        entries, rows = self.slots.shape
        dirty = self.field("value")[self.at] != 0
        for number in range(1, self.layout.order - 1):
            dirty |= self.field("index", number)[self.at] != 0
        yield self.at[dirty], lambda _: "a header's other fields must be zero"
        firsts = np.arange(rows) * entries
        yield (
            firsts[~self.heads[firsts]],
            lambda _: "a value before the first slice of its row",
        )
        over = np.zeros(self.heads.size, np.bool_)
        if len(self.at):
            over[self.at[0] :] = np.repeat(~self.named, self.lengths + 1)
        behind = np.flatnonzero(over[:-1]) + 1
        late = ~self.heads[behind]
        late[~late] = self.named[np.searchsorted(self.at, behind[~late])]
        yield behind[late & (behind % entries != 0)], lambda _: "behind the no-op that ends its row"

    def faults_of_slices(self, size: int) -> Iterator[_Fault]:
        """Yields the faults of the slices that headers announce."""

        def slice_at(place: int) -> int:
            return int(self.numbers[np.searchsorted(self.at, place)])

        yield (
            self.at[self.named & (self.numbers >= size)],
            lambda place: f"slice {slice_at(place)} must be in 0..{size - 1}",
        )
        order = np.lexsort((self.in_stream(self.at), self.numbers))
        order = order[self.named[order]]
        again = order[1:][self.numbers[order[1:]] == self.numbers[order[:-1]]]
        yield self.at[again], lambda place: f"slice {slice_at(place)} is named a second time"

    def faults_of_values(self, sizes: tuple[int, ...]) -> Iterator[_Fault]:
        """Yields the faults of values and their indices."""
        values = ~self.heads
        if self.layout.marker == "zero":
            minus = self.field("value") == self.layout.format.constant("-0")
            yield np.flatnonzero(minus & values), lambda _: "-0 is no value with marker zero"
        rises = np.zeros(len(values) - 1, np.bool_)
        same = ~rises
        for number, size in enumerate(sizes):
            index = self.field("index", number)
            yield np.flatnonzero((index >= size) & values), partial(_outside, index, number, size)
            rises |= same & (index[1:] > index[:-1])
            same &= index[1:] == index[:-1]
        level = np.flatnonzero(~rises & values[1:] & values[:-1]) + 1
        yield level, lambda _: "indices must ascend within a slice"


def _outside(index: npt.NDArray[Any], number: int, size: int, place: int) -> str:
    return f"index {number} must be in 0..{size - 1}, not {index[place]}"
