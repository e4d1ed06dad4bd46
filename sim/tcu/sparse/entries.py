"""Sparse matrices as lists of their entries, as words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..words import Array, Words
from ..words.integers import largest


def summed(words: Words, size: int, places: Array, values: Array) -> Array:
    """``size`` words: at each place the sum of the values that go there, else zero.

    Raises a WordOverflow for integers that do not fit.
    """
    if words.dtype.kind != "i":
        found = np.zeros(size, words.dtype)
        np.add.at(found, places, values)
        return found
    wide = largest(values) * len(values) >> 63
    total = np.zeros(size, object if wide else np.int64)
    np.add.at(total, places, values.astype(object) if wide else values)
    return words.array(total)


@dataclass(frozen=True)
class Entries:
    """Entries by row and column, no place twice, ascending.

    Members
    -------
    shape: of the matrix
    rows, columns: int64, from 0
    values: words
    """

    shape: tuple[int, int]
    rows: Array
    columns: Array
    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def places(self) -> Array:
        """Row by row, as one number each."""
        return np.asarray(self.rows * self.shape[1] + self.columns)

    def to_dense(self, words: Words) -> Array:
        """The matrix, zeros of the words elsewhere."""
        found = np.full(self.shape, words.zero, words.dtype)
        found[self.rows, self.columns] = self.values
        return found

    def to_scipy(self) -> Any:
        """The matrix as SciPy's CSR array; entries that are zero stay entries."""
        from scipy.sparse import coo_array

        return coo_array((self.values, (self.rows, self.columns)), shape=self.shape).tocsr()

    @staticmethod
    def at(shape: tuple[int, int], places: Array, values: Array) -> Entries:
        """Entries at places as numbers, ascending."""
        return Entries(shape, places // shape[1], places % shape[1], values)


def as_entries(name: str, x: Any, words: Words) -> Entries:
    """The entries of a matrix, dense or SciPy's, that are not zero; those of one place are added.

    Raises TypeError for what are no words, ValueError for what is no matrix, or empty.
    """
    given: Any = x.tocoo() if hasattr(x, "tocoo") else np.asarray(x)
    if len(given.shape) != 2 or 0 in given.shape:
        raise ValueError(f"`{name}` must be a matrix, not empty, not of shape {given.shape}")
    shape = (int(given.shape[0]), int(given.shape[1]))
    if isinstance(given, np.ndarray):
        held = words.array(given)
        rows, columns = np.nonzero(held)
        return Entries(shape, rows, columns, held[rows, columns])
    listed = given.row.astype(np.int64) * shape[1] + given.col
    places, which = np.unique(listed, return_inverse=True)
    values = summed(words, len(places), which, words.array(given.data))
    kept = values != 0
    return Entries.at(shape, places[kept], values[kept])


def sparse_operands(a: Any, b: Any, words: Words) -> tuple[Entries, Entries]:
    """``a`` and ``b`` as entries: matrices (n, k) and (k, p). Raises what `as_entries` raises, and
    ValueError for shapes that do not fit."""
    left, right = as_entries("a", a, words), as_entries("b", b, words)
    if left.shape[1] != right.shape[0]:
        raise ValueError(
            "`a` and `b` must be matrices (n, k) and (k, p), not of shapes "
            f"{left.shape} and {right.shape}"
        )
    return left, right
