"""Tensors cut into tiles, each a CISS stream of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout
from .ciss import fill, rounded
from .tensor import Tensor, modes_from

__all__ = ["TileStreams", "cuts", "tile_streams"]

Ints = npt.NDArray[np.int64]

_WORD = 1 << 16


@dataclass(frozen=True, kw_only=True, eq=False)
class TileStreams:
    """The tiles of a tensor that hold values, their streams one behind the other.

    Parameters
    ----------
    numbers: (tiles, order) which range of each mode a tile is of, slices first
    first: (tiles + 1,) the entry at which each tile's stream begins, and where the last one ends
    slots: (entries, rows) of ``slot_type``: as in memory
    """

    numbers: Ints
    first: Ints
    slots: npt.NDArray[np.void]


def cuts(size: int, step: int) -> tuple[int, ...]:
    """Returns the starts of ranges of ``step`` indices, and the end of the last, which may be
    shorter."""
    if step < 1:
        raise ValueError(f"`step` must be at least 1, not {step}")
    return (*range(0, size, step), size)


def tile_streams(
    tensor: Tensor,
    layout: CissLayout,
    slices: Sequence[int],
    ranges: Sequence[Sequence[int]],
    mode: int = 0,
) -> TileStreams:
    """The tiles of a tensor that hold values, those of the first slices first, then by the other
    modes in their order. Together they are the tensor as its own stream has it.

    10^8 values take a minute or two, memory about four times that of the streams.

    Parameters
    ----------
    slices: where the ranges of slices begin, and where the last one ends: from 0 to the size of
        ``mode``, ascending
    ranges: the same of each other mode, in their order

    Raises
    ------
    ValueError if a mode is not cut like this, a tile does not fit the layout, or as ``from_tensor``
    does for values.
    """
    edges = _edges(tensor, layout, slices, ranges, mode)
    return _streams(tensor, layout, edges, mode)


def _edges(
    tensor: Tensor,
    layout: CissLayout,
    slices: Sequence[int],
    ranges: Sequence[Sequence[int]],
    mode: int,
) -> list[Ints]:
    """Checks the cuts of the modes and returns them, slices first."""
    modes = modes_from(tensor.order, mode)
    if len(ranges) != tensor.order - 1:
        raise ValueError(f"`ranges` must be of {tensor.order - 1} modes, not {len(ranges)}")
    edges = [np.asarray(part, np.int64) for part in (slices, *ranges)]
    for one, edge in zip(modes, edges, strict=True):
        size = tensor.shape[one]
        if not len(edge) or edge[0] or edge[-1] != size or (edge[1:] <= edge[:-1]).any():
            raise ValueError(f"cuts of mode {one} must ascend from 0 to {size}")
    layout.check_shape(tuple(int(np.diff(edge).max(initial=0)) for edge in edges))
    return edges


def _streams(tensor: Tensor, layout: CissLayout, edges: list[Ints], mode: int) -> TileStreams:
    modes = modes_from(tensor.order, mode)
    found = rounded(tensor, layout, mode)
    order, values = found.order, found.values
    del found
    # The tile of each value; values by tile, within a tile still in a stream's order.
    place, count = np.zeros(len(order), np.int64), 1
    for one, edge in zip(modes, edges, strict=True):
        place *= max(1, len(edge) - 1)
        place += _range_of(tensor.indices[:, one], edge)[order]
        place, count = _numbered(place, count * max(1, len(edge) - 1))
    by_tile = _stable_order(place, count)
    bounds = np.searchsorted(place[by_tile], np.arange(count + 1))
    del place
    order, values = order[by_tile], values[by_tile]
    del by_tile

    def columns() -> Iterator[Ints]:
        for one, edge in zip(modes, edges, strict=True):
            index = tensor.indices[order, one]
            index -= edge[_range_of(index, edge)]
            yield index

    slots, first = fill(layout, columns(), values, bounds)
    one_each = order[bounds[:-1]]
    ranges = [
        _range_of(tensor.indices[one_each, one], edge)
        for one, edge in zip(modes, edges, strict=True)
    ]
    numbers = np.stack(ranges, axis=1)
    return TileStreams(numbers=numbers, first=first, slots=slots)


def _range_of(index: Ints, edge: Ints) -> Ints:
    """The range of each index."""
    if len(edge) == 2:
        return np.zeros(len(index), np.int64)
    return np.searchsorted(edge, index, side="right") - 1


def _numbered(place: Ints, most: int) -> tuple[Ints, int]:
    """Ranks numbers below ``most`` among the distinct ones; returns the ranks and their count."""
    if most == 1 or not len(place):
        return place, min(1, len(place))
    if most > max(1 << 20, len(place)):
        used, number = np.unique(place, return_inverse=True)
        return number, len(used)
    there = np.zeros(most, np.bool_)
    there[place] = True
    number = np.cumsum(there) - 1
    return number[place], int(number[-1]) + 1


def _stable_order(numbers: Ints, count: int) -> Ints:
    """Returns the order of a stable sort, by 16 bits at a time, which NumPy does in linear time."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    while count > _WORD:
        numbers = numbers >> 16
        count = -(-count // _WORD)
        order = order[np.argsort(numbers[order].astype(np.uint16), kind="stable")]
    return order
