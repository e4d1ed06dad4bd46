"""What the host does in an LU decomposition: panels of a few columns, and inverses of triangles.

An arithmetic is that of integers modulo 2^32, as uint32, or that of fp64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arithmetic", "Doubles", "Modular", "NoPivot", "inverse_of_lower"]

Matrix = NDArray[Any]


class NoPivot(ValueError):
    """A column has no element to divide by. ``args``: its number in the panel."""


class Arithmetic(ABC):
    """How columns are eliminated."""

    @abstractmethod
    def pivot(self, column: Matrix) -> int:
        """The place of the element to divide by. Raises NoPivot if there is none."""

    @abstractmethod
    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        """A column over a pivot."""

    def eliminate(self, panel: Matrix) -> NDArray[np.intp]:
        """Decompose a panel, (rows, columns), in its place: below the diagonal L, whose diagonal is
        1, on it and above U. Rows are exchanged; returns the order that they are in.

        Raises NoPivot.
        """
        order = np.arange(len(panel))
        for column in range(panel.shape[1]):
            try:
                found = column + self.pivot(panel[column:, column])
            except NoPivot:
                raise NoPivot(column) from None
            panel[[column, found]] = panel[[found, column]]
            order[[column, found]] = order[[found, column]]
            rest = panel[column + 1 :]
            rest[:, column] = self.divided(rest[:, column], panel[column, column])
            rest[:, column + 1 :] -= rest[:, column, np.newaxis] * panel[column, column + 1 :]
        return order


class Modular(Arithmetic):
    """Integers modulo 2^32: only odd ones can be divided by."""

    def pivot(self, column: Matrix) -> int:
        """The first odd element."""
        odd = np.flatnonzero(column & np.uint32(1))
        if not len(odd):
            raise NoPivot
        return int(odd[0])

    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        return column * np.uint32(pow(int(pivot), -1, 1 << 32))


class Doubles(Arithmetic):
    """fp64: the largest element is divided by, so that none of L is larger than 1."""

    def pivot(self, column: Matrix) -> int:
        """The first of the largest."""
        found = int(np.argmax(np.abs(column)))
        if not column[found]:
            raise NoPivot
        return found

    def divided(self, column: Matrix, pivot: Any) -> Matrix:
        return column / pivot


def inverse_of_lower(triangle: Matrix) -> Matrix:
    """The inverse of what is below the diagonal of a square, whose diagonal is 1."""
    found = np.eye(len(triangle), dtype=triangle.dtype)
    for row in range(1, len(triangle)):
        found[row, :row] = -(triangle[row, :row] @ found[:row, :row])
    return found
