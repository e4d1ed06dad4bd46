"""A stream as the tensor loader reads it: the entries that get to the rows, and the first fault."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout
from ..sparse.ciss_stream import headers
from .result.entries import Entries

__all__ = ["Fault", "read_stream"]

Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.void]


class Fault(NamedTuple):
    """The error of a stream, and the entry that is wrong."""

    error: str
    entry: int


def read_stream(
    slots: Slots, layout: CissLayout, slices: int, sizes: tuple[int, ...]
) -> Entries | Fault:
    """The entries of a stream (entries, rows), slices ascending; or what is wrong with it.

    Of several faults it is that of the first entry, there of the lowest row, and there "stream"
    before "index" and "slice". Fields of headers that say nothing are not looked at.

    Parameters
    ----------
    slices: of the output
    sizes: of modes 1, 2, ...
    """
    heads = headers(slots, layout)
    numbers = slots["index"][..., 0].astype(np.int64) & layout.largest_index
    no_op = heads & (numbers == layout.largest_index)
    named = heads & ~no_op
    ended = _before(no_op)
    wrong_stream = ended & ~no_op
    wrong_stream |= ~heads & ~_before(named)
    wrong_stream[-1] |= ~no_op[-1]
    wrong_index = np.zeros(heads.shape, np.bool_)
    for number, size in enumerate(sizes):
        wrong_index |= slots["index"][..., number].astype(np.int64) >= size
    wrong_index &= ~heads
    in_stream = np.where(named, numbers, -1).reshape(-1)
    highest = np.maximum.accumulate(np.concatenate([[-1], in_stream[:-1]]))
    wrong_slice = named & ((numbers >= slices) | (numbers <= highest.reshape(numbers.shape)))
    found = [
        (int(np.argmax(wrong)), rank, name)
        for rank, (name, wrong) in enumerate(
            (("stream", wrong_stream), ("index", wrong_index), ("slice", wrong_slice))
        )
        if wrong.any()
    ]
    if found:
        slot, _, name = min(found)
        return Fault(name, slot // layout.rows)
    return _entries(slots, ~heads, named, numbers)


def _before(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether a flag of the same row is set in an entry before."""
    found = np.zeros_like(flags)
    found[1:] = np.logical_or.accumulate(flags, axis=0)[:-1]
    return found


def _entries(
    slots: Slots, values: npt.NDArray[np.bool_], named: npt.NDArray[np.bool_], numbers: Ints
) -> Entries:
    """Values with the slice that their row announced last, by slices and then as they come."""
    times = np.arange(len(slots))[:, None]
    last = np.maximum.accumulate(np.where(named, times, 0), axis=0)
    slices = np.take_along_axis(numbers, last, axis=0)
    # Row by row, so that a slice's values follow each other.
    which = values.T.reshape(-1)
    mine = np.ascontiguousarray(slices.T).reshape(-1)[which]
    stored = np.ascontiguousarray(slots.T).reshape(-1)[which]
    order = np.argsort(mine, kind="stable")
    stored = stored[order]
    return Entries(
        mine[order], stored["index"].T.astype(np.int64), stored["value"].astype(np.uint64)
    )
