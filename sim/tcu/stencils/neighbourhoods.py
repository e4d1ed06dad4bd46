"""Blocks of a grid with all that k sweeps let in: k x k cells in the middle of 3 k x 3 k."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import TensorUnit
from ..transform.ring import Ring
from ..words import Array

__all__ = ["BOUNDARIES", "assembled", "neighbourhoods"]

BOUNDARIES = ("periodic", "open")


def neighbourhoods(
    unit: TensorUnit, ring: Ring, grid: Array, k: int, length: int, boundary: str
) -> Array:
    """Planes of length x length: 3 k x 3 k cells around each block of k x k, row by row, and zeros
    behind them; two blocks a plane on real words, where weights are real. Moves of all of it.

    Cells outside of the grid are those at places modulo its sides (``periodic``), or zero
    (``open``). Blocks that overhang the grid hold what is there.
    """
    places = [_places(side, k, boundary) for side in grid.shape]
    # A row and a column of zeros, for places outside.
    wide = np.pad(grid, ((0, 1), (0, 1)))
    cells = wide[places[0][:, None, :, None], places[1][None, :, None, :]]
    found = np.zeros((cells.shape[0] * cells.shape[1], length, length), grid.dtype)
    found[:, : 3 * k, : 3 * k] = cells.reshape(-1, 3 * k, 3 * k)
    planes = ring.packed(found)
    # Integers become residues as they are gathered, each cell once.
    unit.cpu(
        moves=planes.size * ring.cost.words,
        multiplies=grid.size * ring.cost.result_multiplies,
    )
    return planes


def assembled(unit: TensorUnit, blocks: Array, shape: tuple[int, int]) -> Array:
    """The grid of ``shape`` from its blocks, (blocks, k, k): a move a cell."""
    k = blocks.shape[1]
    high, wide = (-(-side // k) for side in shape)
    cells = blocks.reshape(high, wide, k, k).swapaxes(1, 2).reshape(high * k, wide * k)
    unit.cpu(moves=shape[0] * shape[1])
    return np.array(cells[: shape[0], : shape[1]], order="C")


def _places(side: int, k: int, boundary: str) -> Array:
    """Of each block along a side, the 3 k places it sees; ``side`` itself is a zero."""
    starts = np.arange(-(-side // k)) * k - k
    places = starts[:, None] + np.arange(3 * k)
    if boundary == "periodic":
        return np.asarray(places % side)
    return np.where((places >= 0) & (places < side), places, side)
