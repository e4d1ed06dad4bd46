"""Tiles of a tensor as CISS streams, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.hw.spec.ciss import CissLayout
from tilewright.sim.sparse.ciss import Ciss
from tilewright.sim.sparse.ciss_tiles import TileStreams, tile_streams
from tilewright.sim.sparse.tensor import Tensor, modes_from


@dataclass(frozen=True, kw_only=True, eq=False)
class Tile:
    """Part of a tensor: the indices of its stream count from ``origin``, mode by mode of the
    tensor."""

    origin: tuple[int, ...]
    ciss: Ciss


def tile(
    tensor: Tensor,
    layout: CissLayout,
    slices: Sequence[int],
    ranges: Sequence[Sequence[int]],
    mode: int = 0,
) -> Iterator[Tile]:
    """The tiles that :func:`tile_streams` finds, with its arguments; raises as it does."""
    found = tile_streams(tensor, layout, slices, ranges, mode)
    return _tiles(found, layout, [slices, *ranges], modes_from(tensor.order, mode))


def _tiles(
    found: TileStreams, layout: CissLayout, edges: Sequence[Sequence[int]], modes: Sequence[int]
) -> Iterator[Tile]:
    for numbers, (begin, end) in zip(found.numbers, pairwise(found.first.tolist()), strict=True):
        origin, shape = [0] * len(modes), [0] * len(modes)
        for one, edge, number in zip(modes, edges, numbers, strict=True):
            origin[one] = int(edge[number])
            shape[one] = int(edge[number + 1] - edge[number])
        ciss = Ciss(layout=layout, shape=tuple(shape), mode=modes[0], slots=found.slots[begin:end])
        yield Tile(origin=tuple(origin), ciss=ciss)
