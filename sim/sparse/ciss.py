"""Sparse tensors in CISS, compressed interleaved sparse slices.

Source: Tensaurus, section on the sparse format. What a slot is says ``CissLayout``; the stream's
tiles are in ``ciss_tiles``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapreplace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout
from ...hw.spec.formats import IntFormat
from ..numbers.values import Patterns, is_true
from .c2sr import run_indices
from .ciss_stream import headers, read_slices, slot_type
from .rounding import round_to, values_of
from .tensor import Tensor, arrangement, modes_from, sums

__all__ = ["Ciss", "Rounded", "assign", "fill", "from_tensor", "place", "rounded", "to_tensor"]

Ints = npt.NDArray[np.int64]

_PIECE = 1 << 16
"""Slices that are assigned at once: their numbers become objects."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ciss:
    """A tensor as a stream.

    Parameters
    ----------
    layout: what an entry is
    shape: of the tensor, in its own order of modes
    mode: that whose indices are the slices; the others follow in their order
    slots: (entries, rows) of ``slot_type(layout)``: as in memory
    dropped: entries that marker zero left out, since they were +-0 in the format

    Raises
    ------
    ValueError if the parts do not fit each other. What the slots say is not looked at.
    """

    layout: CissLayout
    shape: tuple[int, ...]
    mode: int
    slots: npt.NDArray[np.void]
    dropped: int = 0

    def __post_init__(self) -> None:
        self.layout.check_shape(self.stream_shape)
        kind = slot_type(self.layout)
        if self.slots.dtype != kind or self.slots.shape[1:] != (self.layout.rows,):
            raise ValueError(
                f"`slots` must be (entries, {self.layout.rows}) of {kind}, "
                f"not {self.slots.shape} {self.slots.dtype}"
            )

    @property
    def stream_shape(self) -> tuple[int, ...]:
        """The shape with the slices' mode first."""
        return tuple(self.shape[mode] for mode in modes_from(len(self.shape), self.mode))

    @property
    def entries(self) -> int:
        """Entries of the stream, that which ends it included."""
        return len(self.slots)

    @property
    def nnz(self) -> int:
        """Values of the stream."""
        return int(self.slots.size - np.count_nonzero(headers(self.slots, self.layout)))


def from_tensor(tensor: Tensor, layout: CissLayout, mode: int = 0) -> Ciss:
    """The stream of a tensor whose slices are those of a mode.

    Entries of one place are added: in float64, or in int64 if both tensor and format are of
    integers. Sums are rounded to the format, to nearest, ties to even; integers are taken modulo
    ``2**bits``. With marker zero those that are then +-0 are dropped, with marker bit they stay.

    Slices that are not empty, ascending, each go to the row with the fewest slots so far, headers
    counted; among equals to the lowest.

    Raises
    ------
    ValueError if the tensor does not fit the layout or has no such mode, or values are not finite
    and the format is of integers.
    """
    layout.check_shape(tuple(tensor.shape[one] for one in modes_from(tensor.order, mode)))
    found = rounded(tensor, layout, mode)
    columns = (tensor.indices[found.order, one] for one in modes_from(tensor.order, mode))
    return place(layout, tensor.shape, mode, columns, found.values, dropped=found.dropped)


@dataclass(frozen=True, eq=False)
class Rounded:
    """The values of a stream in the order of its slices: which entries of the tensor are at their
    places, their patterns, and how many were dropped."""

    order: Ints
    values: Patterns
    dropped: int


def rounded(tensor: Tensor, layout: CissLayout, mode: int) -> Rounded:
    """Returns the entries of a tensor that a stream holds, with their rounded values."""
    order, first = arrangement(tensor, mode)
    whole = tensor.values.dtype.kind == "i" and isinstance(layout.format, IntFormat)
    numbers = tensor.values[order]
    if not whole:
        numbers = numbers.astype(np.float64, copy=False)
    values = round_to(sums(numbers, first), layout.format)
    if not first.all():
        order = order[first]
    if layout.marker == "bit":
        return Rounded(order, values, 0)
    kept = is_true(values, layout.format)
    return Rounded(order[kept], values[kept], len(kept) - int(np.count_nonzero(kept)))


def place(
    layout: CissLayout,
    shape: tuple[int, ...],
    mode: int,
    columns: Iterable[Ints],
    values: Patterns,
    *,
    dropped: int = 0,
) -> Ciss:
    """The stream of patterns whose indices, mode by mode, slices first, are ``columns``: each place
    once and in order."""
    slots, _ = fill(layout, columns, values, np.array([0, len(values)]))
    return Ciss(layout=layout, shape=shape, mode=mode, slots=slots, dropped=dropped)


def fill(
    layout: CissLayout, columns: Iterable[Ints], values: Patterns, bounds: Ints
) -> tuple[npt.NDArray[np.void], Ints]:
    """Streams of patterns, one behind the other: their slots (entries, rows), and the entry at
    which each begins, and the last one ends.

    Parameters
    ----------
    columns: indices mode by mode, slices first; of each stream each place once and in order
    bounds: (streams + 1,) from which value to which each stream goes
    """
    columns = iter(columns)
    slices = next(columns)
    new = np.ones(len(slices), np.bool_)
    new[1:] = slices[1:] != slices[:-1]
    new[bounds[:-1][bounds[:-1] < len(slices)]] = True
    begins = np.flatnonzero(new)
    lengths = np.diff(begins, append=len(slices))
    at = np.empty(len(lengths), np.int64)
    first = np.zeros(len(bounds), np.int64)
    for number, (begin, end) in enumerate(pairwise(np.searchsorted(begins, bounds).tolist())):
        at[begin:end], entries = assign(lengths[begin:end], layout.rows)
        at[begin:end] += first[number] * layout.rows
        first[number + 1] = first[number] + entries

    stream = np.zeros(int(first[-1]) * layout.rows, slot_type(layout))
    indices = [stream["index"][:, number] for number in range(layout.order - 1)]
    indices[0][:] = layout.header_bit | layout.largest_index
    indices[0][at] = layout.header_bit | slices[begins]
    del slices, new
    # Value n of all is n - begin + 1 entries behind its slice's header.
    where = np.repeat(at - begins * layout.rows, lengths)
    where += np.arange(layout.rows, (len(where) + 1) * layout.rows, layout.rows)
    stream["value"][where] = values
    for index, column in zip(indices, columns, strict=True):
        index[where] = column
    return stream.reshape(-1, layout.rows), first


def assign(lengths: Ints, rows: int) -> tuple[Ints, int]:
    """Returns the position of each slice's header, counted in slots, from the slices' numbers of
    values, and the number of entries, the one that ends the stream included."""
    # A row with its slots so far, as one number: the least is the row with the fewest, the lowest
    # of them; it is also the place of the row's next slot.
    heap = list(range(rows))
    at = np.empty(len(lengths), np.int64)
    for begin in range(0, len(lengths), _PIECE):
        piece = slice(begin, begin + _PIECE)
        more = ((lengths[piece] + 1) * rows).tolist()
        at[piece] = [heapreplace(heap, heap[0] + slots) for slots in more]
    return at, max(heap) // rows + 1


def to_tensor(ciss: Ciss) -> Tensor:
    """The tensor of a stream, each place once, slices ascending; float64 or, for an integer format,
    int64, which hold every value.

    Neither the rows of slices nor their order matter, nor headers of empty slices. Raises
    ValueError that names the first entry and slot that cannot be.
    """
    layout = ciss.layout
    slices = read_slices(ciss.slots, layout, ciss.stream_shape)
    # Places count row by row, memory entry by entry.
    where = run_indices(slices.begins, slices.lengths)
    rows = where // ciss.entries
    where -= rows * ciss.entries
    where *= layout.rows
    where += rows
    del rows
    stream = ciss.slots.reshape(-1)
    indices = np.empty((len(where), layout.order), np.int64)
    modes = modes_from(layout.order, ciss.mode)
    indices[:, modes[0]] = np.repeat(slices.numbers, slices.lengths)
    for number, mode in enumerate(modes[1:]):
        indices[:, mode] = stream["index"][:, number][where]
    values = values_of(stream["value"][where], layout.format)
    return Tensor(shape=ciss.shape, indices=indices, values=values)
