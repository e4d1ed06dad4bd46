"""The tiles of a tensor as they are in a device's memory: streams, or dense slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from ..numbers.scalars import Patterns
from ..sparse.ciss_tiles import cuts, tile_streams
from ..sparse.tensor import Tensor
from .images import dense_bytes
from .work import Cut, Work

__all__ = ["TensorTiles", "dense_tiles", "sparse_tiles"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorTiles:
    """The tiles of a tensor that have values.

    Parameters
    ----------
    numbers: (tiles, order) of their ranges, slices first
    entries: (tiles,) of their streams; 0 of dense tiles
    first: (tiles + 1,) where in ``content`` each one begins, and the last one ends
    content: bytes
    """

    numbers: Ints
    entries: Ints
    first: Ints
    content: npt.NDArray[np.uint8]


def sparse_tiles(
    config: TensaurusConfig, work: Work, cut: Cut, tensor: Tensor, mode: int
) -> TensorTiles:
    """The streams of a tensor whose slices are those of ``mode``. Raises ValueError as
    ``ciss_tiles.tile`` does."""
    layout = config.layout(work.order)
    edges = [cuts(size, step) for size, step in zip(work.shape, cut.steps, strict=True)]
    found = tile_streams(tensor, layout, edges[0], edges[1:], mode)
    return TensorTiles(
        numbers=found.numbers,
        entries=np.diff(found.first),
        first=found.first * layout.entry_bytes,
        content=found.slots.reshape(-1).view(np.uint8),
    )


def dense_tiles(config: TensaurusConfig, work: Work, cut: Cut, tensor: Patterns) -> TensorTiles:
    """All tiles of a dense tensor, slices first."""
    found, numbers = [], []
    if tensor.size:
        numbers = list(product(*(range(count) for count in cut.range_counts(work))))
    for place in numbers:
        where = tuple(
            slice(number * step, (number + 1) * step)
            for number, step in zip(place, cut.steps, strict=True)
        )
        found.append(np.frombuffer(dense_bytes(config, tensor[where]), np.uint8))
    return TensorTiles(
        numbers=np.array(numbers, np.int64).reshape(-1, work.order),
        entries=np.zeros(len(numbers), np.int64),
        first=np.cumsum([0, *map(len, found)]),
        content=np.concatenate([np.zeros(0, np.uint8), *found]),
    )
