"""What the slots of a CISS stream say, and whether they may."""

from __future__ import annotations

from collections.abc import Callable
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
    """Which slots are headers, no-ops included."""
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
    entries = len(slots)
    if not entries:
        raise ValueError("a stream must have an entry that ends it")
    heads = headers(slots, layout).T.reshape(-1)
    at = np.flatnonzero(heads)
    numbers = slots["index"][..., 0].T.reshape(-1)[at].astype(np.int64) & layout.largest_index
    lengths = np.diff(at, append=heads.size) - 1
    named = numbers != layout.largest_index
    _check(slots, layout, shape, heads, at, numbers, named, lengths)
    chosen = np.flatnonzero(named)
    chosen = chosen[np.argsort(numbers[chosen], kind="stable")]
    return Slices(numbers[chosen], at[chosen] + 1, lengths[chosen])


def _check(
    slots: Slots,
    layout: CissLayout,
    shape: tuple[int, ...],
    heads: Bools,
    at: Ints,
    numbers: Ints,
    named: Bools,
    lengths: Ints,
) -> None:
    """Refuse a stream for the first thing that is wrong with it.

    Of several at one slot it is the one that is looked for first. Behind the first wrong slot of a
    row, what is found in the row means nothing.
    """
    entries, rows = slots.shape
    faults: list[tuple[int, Callable[[int], str]]] = []

    def look(places: Ints, say: Callable[[int], str]) -> None:
        if len(places):
            stream = places % entries * rows + places // entries
            faults.append((int(stream.min()), say))

    def field(name: str, number: int | None = None) -> npt.NDArray[Any]:
        """A field of all slots, row by row."""
        found = slots[name] if number is None else slots[name][..., number]
        return np.ascontiguousarray(found.T).reshape(-1)

    dirty = field("value")[at] != 0
    for number in range(1, layout.order - 1):
        dirty |= field("index", number)[at] != 0
    look(at[dirty], lambda _: "a header's other fields must be zero")
    firsts = np.arange(rows) * entries
    look(firsts[~heads[firsts]], lambda _: "a value before the first slice of its row")

    over = np.zeros(heads.size, np.bool_)
    over[at[0] if len(at) else heads.size :] = np.repeat(~named, lengths + 1)
    behind = np.flatnonzero(over[:-1]) + 1
    late = ~heads[behind]
    late[heads[behind]] = named[np.searchsorted(at, behind[heads[behind]])]
    look(behind[late & (behind % entries != 0)], lambda _: "behind the no-op that ends its row")

    look(
        at[named & (numbers >= shape[0])],
        lambda place: f"slice {number_at(place)} must be in 0..{shape[0] - 1}",
    )

    def number_at(place: int) -> int:
        return int(numbers[np.searchsorted(at, place)])

    stream = at % entries * rows + at // entries
    order = np.lexsort((stream, numbers))
    order = order[named[order]]
    again = order[1:][numbers[order[1:]] == numbers[order[:-1]]]
    look(at[again], lambda place: f"slice {number_at(place)} is named a second time")

    if layout.marker == "zero":
        minus = field("value") == layout.format.constant("-0")
        look(np.flatnonzero(minus & ~heads), lambda _: "-0 is no value with marker zero")
    rises, same = np.zeros(heads.size - 1, np.bool_), np.ones(heads.size - 1, np.bool_)
    for number, size in enumerate(shape[1:]):
        index = field("index", number)
        outside = np.flatnonzero((index >= size) & ~heads)
        look(outside, partial(_outside, index, number, size))
        rises |= same & (index[1:] > index[:-1])
        same &= index[1:] == index[:-1]
    level = np.flatnonzero(~rises & ~heads[1:] & ~heads[:-1]) + 1
    look(level[level % entries != 0], lambda _: "indices must ascend within a slice")

    lasts = firsts + entries - 1
    ended = heads[lasts]
    ended[ended] = ~named[np.searchsorted(at, lasts[ended])]
    look(lasts[~ended], lambda _: "the last entry must be of no-ops")
    if faults:
        # The first of equals: what was looked for first.
        where, say = min(faults, key=lambda fault: fault[0])
        entry, slot = divmod(where, rows)
        raise ValueError(f"entry {entry}, slot {slot}: {say(slot * entries + entry)}")


def _outside(index: npt.NDArray[Any], number: int, size: int, place: int) -> str:
    return f"index {number} must be in 0..{size - 1}, not {index[place]}"
