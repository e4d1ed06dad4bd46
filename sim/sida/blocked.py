"""Dual storage in blocks: elements stored once, with one-byte coordinates, in blocks that are found
by columns and by rows.

A block is a square of ``side`` rows and columns that has elements; CSC and CSR are those of the
blocks, and both name the same ones (uncompressed pointers, coordinates of blocks, coordinates of
elements: UOP-CP-CP).

Source: Exploiting data reuse with inter-operator dataflow, blocked sparse storage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .references import POINTER_BYTES
from .result.products import Columns

__all__ = ["SIDES", "Blocked", "best_side", "flat_bytes"]

Ints = npt.NDArray[np.int64]

SIDES = (4, 8, 16, 32, 64, 128, 256)
"""Sides of blocks; a coordinate within a block is one byte."""

_INDEX_BYTES = 4
"""Bytes of the number of a block, or of its row or column."""


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """A square matrix in blocks, which are numbered column by column.

    Parameters
    ----------
    size: rows, and columns
    side: of a block
    column_pointers: where each column of blocks begins
    block_rows: of each block its row of blocks, ascending within a column
    row_pointers, row_blocks: where each row of blocks begins; its blocks' numbers, ascending
    block_columns: of each of ``row_blocks`` its column of blocks
    ends: where each block's elements begin, and the last one's end
    rows, columns: of each element its place in the block, column by column
    values: patterns
    """

    size: int
    side: int
    column_pointers: Ints
    block_rows: Ints
    row_pointers: Ints
    row_blocks: Ints
    block_columns: Ints
    ends: Ints
    rows: npt.NDArray[np.uint8]
    columns: npt.NDArray[np.uint8]
    values: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, matrix: Columns, side: int) -> Blocked:
        """Raises ValueError for a side that is not one of ``SIDES``."""
        if side not in SIDES:
            allowed = ", ".join(map(str, SIDES))
            raise ValueError(f"`side` must be one of {allowed}, not {side}")
        across = -(-matrix.size // side)
        where = matrix.columns // side * across + matrix.rows // side
        order = np.argsort(where, kind="stable")
        found, ends = np.unique(where[order], return_index=True)
        block_columns, block_rows = np.divmod(found, across)
        row_blocks = np.lexsort((block_columns, block_rows))
        return cls(
            size=matrix.size,
            side=side,
            column_pointers=_pointers(block_columns, across),
            block_rows=block_rows,
            row_pointers=_pointers(block_rows, across),
            row_blocks=row_blocks,
            block_columns=block_columns[row_blocks],
            ends=np.append(ends, len(order)),
            rows=(matrix.rows[order] % side).astype(np.uint8),
            columns=(matrix.columns[order] % side).astype(np.uint8),
            values=matrix.values[order],
        )

    @property
    def blocks(self) -> int:
        """Number of blocks that have elements."""
        return len(self.block_rows)

    def unblocked(self) -> Columns:
        """The matrix by columns, as it was."""
        across = len(self.column_pointers) - 1
        block_columns = np.repeat(np.arange(across), np.diff(self.column_pointers))
        counts = np.diff(self.ends)
        columns = np.repeat(block_columns * self.side, counts) + self.columns
        rows = np.repeat(self.block_rows * self.side, counts) + self.rows
        order = np.lexsort((rows, columns))
        return Columns(
            pointers=_pointers(columns[order], self.size),
            rows=rows[order],
            values=self.values[order],
        )

    def bytes(self, value_bytes: int) -> int:
        """Memory of the whole matrix with values of ``value_bytes``."""
        # A block's number is its place by columns; by rows it is stored.
        by_rows = len(self.row_pointers) * POINTER_BYTES + 2 * self.blocks * _INDEX_BYTES
        return self.column_bytes(value_bytes) + by_rows

    def column_bytes(self, value_bytes: int) -> int:
        """Bytes that one pass over all elements by columns reads."""
        pointers = (len(self.column_pointers) + len(self.ends)) * POINTER_BYTES
        elements = len(self.values) * (2 + value_bytes)
        return pointers + self.blocks * _INDEX_BYTES + elements


def _pointers(ascending: Ints, count: int) -> Ints:
    return np.searchsorted(np.sort(ascending), np.arange(count + 1)).astype(np.int64)


def flat_bytes(matrix: Columns, value_bytes: int) -> int:
    """Memory of a matrix by columns, or by rows, without blocks; dual storage takes twice that."""
    each = len(matrix.rows) * (_INDEX_BYTES + value_bytes)
    return each + (matrix.size + 1) * POINTER_BYTES


def best_side(matrix: Columns, value_bytes: int) -> Blocked:
    """Cuts a matrix into blocks of the side that needs the least memory."""
    found = [Blocked.of(matrix, side) for side in SIDES]
    return min(found, key=lambda one: one.bytes(value_bytes))
