"""Matrices cut into the tiles of a matrix unit, and put together again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.matrix_unit import MatrixUnitConfig, Operation

__all__ = ["Tiles", "cut", "elements_deep", "joined", "operation_count", "padded", "to_lanes"]

Words = NDArray[np.uint64]


@dataclass
class Tiles:
    """Operand tiles of a product, and where they lie in the sequence of operations.

    Operations run over the batch and the output tiles first and over the depth last: each reads
    the accumulators that the operation ``count`` places before it wrote.

    Parameters
    ----------
    a: operand lanes, (batch * down * deep, rows, depth), row by row of tiles
    b: operand lanes, (batch * deep * across, depth, cols), likewise
    batch, down, deep, across: matrices, and tiles along each side of them
    """

    a: NDArray[Any]
    b: NDArray[Any]
    batch: int
    down: int
    across: int
    deep: int
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = self.batch * self.down * self.across

    def indices(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of ``a`` and of ``b`` that operations first..last-1 read."""
        step, tile = np.divmod(np.arange(first, last, dtype=np.int64), self.count)
        rest, column = np.divmod(tile, self.across)
        batch, row = np.divmod(rest, self.down)
        a = (batch * self.down + row) * self.deep + step
        b = (batch * self.deep + step) * self.across + column
        return a, b


def elements_deep(config: MatrixUnitConfig, operation: Operation) -> int:
    """Depth of an operation in elements: columns of a, rows of b."""
    return config.depth // (operation.operand_bits // config.lane_bits)


def operation_count(
    config: MatrixUnitConfig, name: str, batch: int, shape: tuple[int, int, int]
) -> int:
    """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
    deep = elements_deep(config, config.operations[name])
    counts = (-(-n // t) for n, t in zip(shape, (config.rows, deep, config.cols), strict=True))
    return batch * int(np.prod(list(counts), dtype=object))


def padded(array: Words, rows: int, cols: int, value: int) -> Words:
    """Matrices (batch, M, N) filled up with a pattern to multiples of rows and columns."""
    shape = (array.shape[0], -(-array.shape[1] // rows) * rows, -(-array.shape[2] // cols) * cols)
    full = np.full(shape, value, np.uint64)
    full[:, : array.shape[1], : array.shape[2]] = array
    return full


def cut(array: Words, rows: int, cols: int) -> Words:
    """(batch, M, N) cut into (batch * tiles, rows, cols), row by row of tiles."""
    batch, height, width = array.shape
    grid = array.reshape(batch, height // rows, rows, width // cols, cols)
    return np.ascontiguousarray(grid.transpose(0, 1, 3, 2, 4)).reshape(-1, rows, cols)


def joined(tiles: Words, batch: int, down: int, across: int) -> Words:
    """The reverse of `cut`."""
    rows, cols = tiles.shape[1:]
    grid = tiles.reshape(batch, down, across, rows, cols).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(grid).reshape(batch, down * rows, across * cols)


def to_lanes(words: Words, operand_bits: int, lane_bits: int, *, axis: int) -> NDArray[Any]:
    """Container words cut into neighbouring lanes along an axis, low lane first."""
    shifts = np.arange(operand_bits // lane_bits, dtype=np.uint64) * np.uint64(lane_bits)
    mask = np.uint64((1 << lane_bits) - 1)
    lanes = np.stack([words >> shift & mask for shift in shifts], axis=axis + 1)
    shape = list(words.shape)
    shape[axis] *= len(shifts)
    return lanes.reshape(shape).astype(f"u{lane_bits // 8}")
