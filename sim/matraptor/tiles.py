"""Tiles of a product by outer products on a MatRaptor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...hw.spec.c2sr import PAIR_BYTES
from ...hw.spec.matraptor import MatRaptorConfig

__all__ = ["Tiles", "tiles_of"]


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """A division of C into tiles.

    Parameters
    ----------
    shape: shape of C
    rows, columns: shape of a tile; the last tiles may be smaller
    """

    shape: tuple[int, int]
    rows: int
    columns: int

    @property
    def count(self) -> int:
        """Number of tiles."""
        return -(-self.shape[0] // self.rows) * -(-self.shape[1] // self.columns)

    @property
    def row_ranges(self) -> list[tuple[int, int]]:
        """Returns the ranges of rows, start and end, of the rows of tiles."""
        return list(pairwise([*range(0, self.shape[0], self.rows), self.shape[0]]))

    @property
    def column_ranges(self) -> list[tuple[int, int]]:
        return list(pairwise([*range(0, self.shape[1], self.columns), self.shape[1]]))


def tiles_of(
    config: MatRaptorConfig, shape: tuple[int, int], inner: int, entries: tuple[int, int]
) -> Tiles:
    """Chooses the tiles that fit the chip and need the fewest bytes of reads, if every lane needs
    every row of B. Returns a single tile if C fits.

    Parameters
    ----------
    shape: shape of C, at least 1 x 1
    inner: columns of A, which are the rows of B
    entries: numbers of entries of A and of B
    """
    rows, columns = shape
    depth, lanes, entry = config.queue_depth, config.lanes, config.layout.entry_bytes
    widest = min(columns, depth)
    lines = np.arange(1, -(-widest // config.accumulator_banks) + 1)
    width = np.minimum(lines * config.accumulator_banks, widest)
    height = np.minimum(depth // lines * lanes, rows)
    across, down = -(-columns // width), -(-rows // height)
    pairs = inner * lanes * (PAIR_BYTES + config.beat_bytes)
    read = across * down * pairs + across * entries[0] * entry + down * lanes * entries[1] * entry
    best = int(np.argmin(read))
    return Tiles(shape=shape, rows=int(height[best]), columns=int(width[best]))
