"""Transforms of any length, in any ring."""

from __future__ import annotations

import numpy as np

from ..blocks import multiple
from ..formulas.lengths import chirp_length, radices
from ..tensor_unit import TensorUnit
from ..words import Array
from .ring import Ring, moved, multiply

# Lengths with prime factors above the unit's side: a transform as a convolution with a chirp.
#
# Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier
# transform";
# products of places are differences of triangular numbers, so that no root of a root is needed
# and
# residues do as well: ``j k = T(j + k) - T(j) - T(k)``, ``T(x) = x (x - 1) / 2``.


# Theorem 7: the algorithm of Cooley and Tukey with as large factors as the unit takes.
#
# Source: section 3.5 of the paper. All transforms of a level are the rows of one tall call.


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


def bluestein(unit: TensorUnit, ring: Ring, x: Array, inverse: bool = False) -> Array:
    """The transforms of the rows of ``x``, (count, n), by three transforms of 2 n - 1 or more.

    The chirp is a table, not charged; its transform is the unit's work, and is.
    Raises ValueError if the ring has no roots for it.
    """
    count, n = x.shape
    length = chirp_length(n, unit.s, ring.order)
    factors = radices(length, unit.s)
    assert factors is not None
    places = np.arange(2 * n - 1)
    exponents = places * (places - 1) // 2 * (-1 if inverse else 1)
    chirp = np.zeros((1, length), ring.dtype)
    chirp[0, : 2 * n - 1] = ring.roots(n, exponents)
    against = ring.roots(n, -exponents[:n])
    scaled = ring.roots(n, -exponents[:n], n) if inverse else against
    turned = np.zeros((count, length), ring.dtype)
    turned[:, :n] = multiply(unit, ring, x, against)[:, ::-1]
    unit.cpu(moves=count * (length - n) * ring.cost.words)
    forward = [mixed_radix(unit, ring, one, factors) for one in (turned, chirp)]
    made = mixed_radix(unit, ring, multiply(unit, ring, *forward), factors, inverse=True)
    return multiply(unit, ring, made[:, n - 1 : 2 * n - 1], scaled)


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
