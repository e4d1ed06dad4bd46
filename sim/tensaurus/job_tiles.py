"""The tiles of a tensor as they are in a device's memory: streams, or dense slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from ..numbers.container_words import from_bytes, to_bytes
from ..numbers.scalars import Patterns
from ..sparse.ciss_tiles import cuts, tile_streams
from ..sparse.tensor import Tensor
from .result.kernel import Kernel
from .work import Cut, Work


def operand_bytes(config: TensaurusConfig, operand: Patterns, columns: int) -> bytes:
    """Rows of an operand, each padded with zeros to so many values."""
    padded = np.zeros((len(operand), columns), np.uint64)
    padded[:, : operand.shape[1]] = operand
    return to_bytes(padded, config.format)


def pitch_of(config: TensaurusConfig, sizes: tuple[int, ...]) -> int:
    """Bytes from a dense slice with modes of these sizes to the next."""
    line = config.line_bytes
    return -(-prod(sizes) * config.format.bits // 8 // line) * line


def dense_bytes(config: TensaurusConfig, tensor: Patterns) -> bytes:
    """A dense tensor, slices first: each slice begins a line."""
    pitch = pitch_of(config, tensor.shape[1:])
    rows = to_bytes(tensor, config.format)
    size = len(rows) // max(1, len(tensor))
    found: npt.NDArray[np.uint8] = np.zeros((len(tensor), pitch), np.uint8)
    found[:, :size] = np.frombuffer(rows, np.uint8).reshape(len(tensor), size)
    return found.tobytes()


def dense_from_bytes(
    config: TensaurusConfig, content: bytes, shape: tuple[int, ...], pitch: int
) -> Patterns:
    """The tensor again."""
    size = prod(shape[1:]) * config.format.bits // 8
    # Nothing is read after the last slice.
    padded = np.frombuffer(content.ljust(shape[0] * pitch, b"\0"), np.uint8)
    rows = padded[: shape[0] * pitch].reshape(shape[0], pitch)[:, :size]
    return from_bytes(rows.tobytes(), config.format).reshape(shape)


def output_bytes(
    config: TensaurusConfig, kernel: Kernel, slices: int, store: str = "buffer"
) -> int:
    """Bytes of an output of so many slices; of one that is added up in memory each unit begins a
    line."""
    if store == "memory":
        return slices * kernel.units * config.memory_unit_bytes
    return slices * kernel.slice_values(config) * config.sum_format.bits // 8


def output_from_bytes(
    config: TensaurusConfig, kernel: Kernel, content: bytes, store: str = "buffer"
) -> Patterns:
    """Its values: slices and, of each, ``kernel.slice_values``."""
    if store == "memory":
        units = np.frombuffer(content, np.uint8).reshape(-1, config.memory_unit_bytes)
        content = units[:, : config.result_unit_bytes].tobytes()
    return from_bytes(content, config.sum_format).reshape(-1, kernel.slice_values(config))


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
