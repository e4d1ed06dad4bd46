"""Tensors cut into tiles, each a CISS stream of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...hw.spec.ciss import CissLayout
from .ciss import Ciss, place, rounded
from .tensor import Tensor, modes_from

__all__ = ["Tile", "cuts", "tile"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tile:
    """Part of a tensor: the indices of its stream count from ``origin``, mode by mode of the
    tensor."""

    origin: tuple[int, ...]
    ciss: Ciss


def cuts(size: int, step: int) -> tuple[int, ...]:
    """Where ranges of ``step`` indices begin, and where the last one ends, which may be shorter."""
    if step < 1:
        raise ValueError(f"`step` must be at least 1, not {step}")
    return (*range(0, size, step), size)


def tile(
    tensor: Tensor,
    layout: CissLayout,
    slices: Sequence[int],
    ranges: Sequence[Sequence[int]],
    mode: int = 0,
) -> Iterator[Tile]:
    """The tiles of a tensor that hold values, those of the first slices first, then by the other
    modes in their order. Together they are the tensor as its own stream has it.

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
    modes = modes_from(tensor.order, mode)
    if len(ranges) != tensor.order - 1:
        raise ValueError(f"`ranges` must be of {tensor.order - 1} modes, not {len(ranges)}")
    edges = [np.asarray(part, np.int64) for part in (slices, *ranges)]
    for one, edge in zip(modes, edges, strict=True):
        size = tensor.shape[one]
        if not len(edge) or edge[0] or edge[-1] != size or (edge[1:] <= edge[:-1]).any():
            raise ValueError(f"cuts of mode {one} must ascend from 0 to {size}")
    layout.check_shape(tuple(int(np.diff(edge).max(initial=0)) for edge in edges))
    return _tiles(tensor, layout, edges, mode)


def _tiles(
    tensor: Tensor, layout: CissLayout, edges: list[np.ndarray], mode: int
) -> Iterator[Tile]:
    modes = modes_from(tensor.order, mode)
    found = rounded(tensor, layout, mode)
    # The tile of each value, mode by mode, and values by tile, still in a stream's order.
    parts = [
        np.searchsorted(edge, tensor.indices[found.order, one], side="right") - 1
        for one, edge in zip(modes, edges, strict=True)
    ]
    by_tile = np.lexsort(parts[::-1])
    new = np.zeros(len(by_tile), np.bool_)
    new[:1] = True
    for part in parts:
        new[1:] |= part[by_tile[1:]] != part[by_tile[:-1]]
    for begin, end in pairwise([*np.flatnonzero(new).tolist(), len(by_tile)]):
        mine = by_tile[begin:end]
        numbers = [int(part[mine[0]]) for part in parts]
        origin, shape = [0] * tensor.order, [0] * tensor.order
        for one, edge, number in zip(modes, edges, numbers, strict=True):
            origin[one] = int(edge[number])
            shape[one] = int(edge[number + 1] - edge[number])
        columns = (tensor.indices[found.order[mine], one] - origin[one] for one in modes)
        values = found.values[mine]
        yield Tile(
            origin=tuple(origin),
            ciss=place(layout, tuple(shape), mode, columns, values),
        )
