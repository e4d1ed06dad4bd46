"""Transforms of any length, in any ring."""

from __future__ import annotations

from ..formulas.lengths import radices
from ..tensor_unit import TensorUnit
from ..words import Array
from .bluestein import bluestein
from .mixed_radix import mixed_radix
from .ring import Ring, moved

__all__ = ["planes_transformed", "rows_transformed"]


def rows_transformed(unit: TensorUnit, ring: Ring, x: Array, inverse: bool = False) -> Array:
    """The transforms of the rows of ``x``, (count, n): by factors of n, or Bluestein's way."""
    factors = radices(x.shape[1], unit.s)
    if factors is None:
        return bluestein(unit, ring, x, inverse)
    return mixed_radix(unit, ring, x, factors, inverse)


def planes_transformed(unit: TensorUnit, ring: Ring, x: Array, inverse: bool = False) -> Array:
    """The transforms in two dimensions of the planes of ``x``, (count, n, n), turned: frequencies
    (column, row). The inverse of what is turned is not.

    All rows of all planes are one batch, and all columns: a call a level each.
    """
    count, n, _ = x.shape
    rows = rows_transformed(unit, ring, x.reshape(-1, n), inverse)
    turned = moved(unit, ring, rows.reshape(count, n, n).swapaxes(1, 2))
    return rows_transformed(unit, ring, turned.reshape(-1, n), inverse).reshape(count, n, n)
