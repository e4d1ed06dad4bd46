"""Theorem 7: the algorithm of Cooley and Tukey with as large factors as the unit takes.

Source: section 3.5 of the paper. All transforms of a level are the rows of one tall call.
"""

from __future__ import annotations

import numpy as np

from ..blocks import multiple
from ..tensor_unit import TensorUnit
from ..words import Array
from .ring import Ring, moved, multiply

__all__ = ["mixed_radix"]


def mixed_radix(
    unit: TensorUnit, ring: Ring, x: Array, factors: tuple[int, ...], inverse: bool = False
) -> Array:
    """The transforms of the rows of ``x``, (count, n), where n is the product of ``factors``, of
    at most s each.

    A level is a product of ``count n / s`` rows if its factor divides s, with block diagonal
    matrices on the unit: ``s // factor`` transforms share a row. Between levels the CPU multiplies
    by twiddle factors, and writes where the next level reads; before the first level and behind
    the last it moves all. Matrices and twiddle factors are tables of n and s, not charged.

    inverse: the other direction, divided by n, which is done in the table of the first level
    """
    count, n = x.shape
    below, y = n, x
    for level, factor in enumerate(factors):
        below //= factor
        # Decimation: the columns of a (factor, below) matrix are transformed.
        columns = y.reshape(-1, factor, below).swapaxes(1, 2)
        first = level == 0
        y = moved(unit, ring, columns) if first and below > 1 else np.ascontiguousarray(columns)
        table = _table(unit.s, ring, factor, inverse, n if inverse and first else 1)
        y = _transformed(unit, ring, y.reshape(-1, factor), factor, table)
        y = y.reshape(-1, below, factor)
        if below > 1:
            y = multiply(unit, ring, y, _twiddles(ring, below, factor, inverse))
        y = y.swapaxes(1, 2)
    if len(factors) < 2:
        return y.reshape(count, n)
    # The first level gave the lowest digit of places.
    digits = y.reshape(count, *factors).transpose(0, *range(len(factors), 0, -1))
    return moved(unit, ring, digits).reshape(count, n)


def _transformed(unit: TensorUnit, ring: Ring, x: Array, factor: int, table: Array) -> Array:
    """The rows of ``x``, of ``factor`` numbers each, times the matrix: one call, or four."""
    s, (count, _) = unit.s, x.shape
    shared = s // factor
    used = -(-count // shared)
    high = multiple(used, s) if unit.weak else max(used, s)
    if (high * shared, s) == (count, shared * factor):
        wide = x.reshape(high, s)
    else:
        filled = np.zeros((used * shared, factor), ring.dtype)
        filled[:count] = x
        wide = np.zeros((high, s), ring.dtype)
        wide[:used, : shared * factor] = filled.reshape(used, -1)
        unit.cpu(moves=wide.size * ring.cost.words)
    found = ring.product(unit, wide, table)
    cost = ring.cost
    unit.cpu(adds=wide.size * cost.result_adds, multiplies=wide.size * cost.result_multiplies)
    return found[:used, : shared * factor].reshape(-1, factor)[:count]


def _table(s: int, ring: Ring, factor: int, inverse: bool, divisor: int) -> Array:
    """The matrix of transforms of ``factor`` numbers, as often as it fits on the diagonal."""
    places = np.arange(factor)
    exponents = places[:, None] * places * (-1 if inverse else 1)
    one = ring.roots(factor, exponents, divisor)
    table = np.zeros((s, s), ring.dtype)
    for start in range(0, s - factor + 1, factor):
        table[start : start + factor, start : start + factor] = one
    return table


def _twiddles(ring: Ring, below: int, factor: int, inverse: bool) -> Array:
    exponents = np.arange(below)[:, None] * np.arange(factor) * (-1 if inverse else 1)
    return ring.roots(below * factor, exponents)
