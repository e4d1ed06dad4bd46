"""Weights of k sweeps at once: the k-th power of a polynomial in two variables."""

from __future__ import annotations

import numpy as np

from ..formulas.lengths import fast_length
from ..tensor_unit import TensorUnit
from ..transform.ring import Ring, add, moved, multiply
from ..transform.rows import planes_transformed
from ..words import Array

__all__ = ["filled", "power"]


def power(unit: TensorUnit, ring: Ring, weights: Array, k: int) -> Array:
    """Coefficients, (2 k + 1, 2 k + 1), of the k-th power of a polynomial of (3, 3) coefficients.

    From the highest bit of ``k`` down a square by transforms, and where the bit is set a product
    with the weights by the CPU: O(k^2 log k + l log k).
    """
    found, reached = weights, 1
    for bit in f"{k:b}"[1:]:
        found = _squared(unit, ring, found)
        reached *= 2
        if bit == "1":
            found = _times(unit, ring, found, weights)
            reached += 1
    return found


def filled(unit: TensorUnit, ring: Ring, x: Array, n: int) -> Array:
    """``x`` in the first corner of (n, n) zeros: moves of all."""
    wide = np.zeros((n, n), ring.dtype)
    wide[: x.shape[0], : x.shape[1]] = x
    return moved(unit, ring, wide)


def _squared(unit: TensorUnit, ring: Ring, x: Array) -> Array:
    side = 2 * x.shape[0] - 1
    length = fast_length(side, unit.s, ring.order)
    seen = planes_transformed(unit, ring, filled(unit, ring, x, length)[None])
    product = multiply(unit, ring, seen, seen)
    found = planes_transformed(unit, ring, product, inverse=True)[0, :side, :side]
    return ring.array(ring.plain(found))


def _times(unit: TensorUnit, ring: Ring, x: Array, weights: Array) -> Array:
    side = x.shape[0]
    total = filled(unit, ring, x[:0], side + 2)
    for i in range(3):
        for j in range(3):
            term = multiply(unit, ring, x, np.broadcast_to(weights[i, j], x.shape))
            place = total[i : i + side, j : j + side]
            place[...] = add(unit, ring, place, term)
    return total
