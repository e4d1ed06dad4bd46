"""The discrete Fourier transform of a signal (Theorem 7), and its inverse."""

from __future__ import annotations

from math import lcm
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..formulas.transform import NumberCost, chirp_length, radices
from ..tensor_unit import TensorUnit, multiple, require
from ..words import Array
from ..words.floats import Floats
from ..words.integers import Integers
from ..words.modular import Residues
from .complex_numbers import ComplexNumbers
from .residues import PrimeField, largest_modulus, who_takes

# Lengths with prime factors above the unit's side: a transform as a convolution with a chirp.
#
# Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier
# transform"; products of places are differences of triangular numbers, so that no root of a root
# is needed and residues do as well: ``j k = T(j + k) - T(j) - T(k)``, ``T(x) = x (x - 1) / 2``.


# Theorem 7: the algorithm of Cooley and Tukey with as large factors as the unit takes.
#
# Source: section 3.5 of the paper. All transforms of a level are the rows of one tall call.


class Ring(Protocol):
    """Numbers with roots of unity.

    Members
    -------
    name: for messages
    dtype: of arrays of numbers
    cost: what a number and its operators are made of
    order: of roots there are divides it; 0 if there are roots of any order
    """

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def cost(self) -> NumberCost: ...
    @property
    def order(self) -> int: ...

    def array(self, x: npt.ArrayLike) -> Array:
        """``x`` as numbers. Raises TypeError and ValueError for what are none."""
        ...

    def plain(self, x: Array) -> Array:
        """Numbers as single words: the real parts of complex ones, on a unit of real words."""
        ...

    def packed(self, x: Array) -> Array:
        """Planes of words as planes of numbers: two to one, as parts, on a unit of real words."""
        ...

    def unpacked(self, x: Array, count: int) -> Array:
        """The first ``count`` planes of words that those of numbers hold, after anything linear
        with real coefficients."""
        ...

    def roots(self, n: int, exponents: Array, divisor: int = 1) -> Array:
        """``w**exponents / divisor`` where w is the root of order ``n``: ``exp(-2 pi i / n)``."""
        ...

    def product(self, unit: TensorUnit, a: Array, b: Array) -> Array:
        """``a b`` by the unit, (rows, s) by (s, s); what the CPU does for it is not charged."""
        ...

    def multiply(self, x: Array, y: Array) -> Array:
        """``x y``, element by element."""
        ...

    def add(self, x: Array, y: Array) -> Array:
        """``x + y``, element by element."""
        ...


def add(unit: TensorUnit, ring: Ring, x: Array, y: Array) -> Array:
    """``x + y``, charged."""
    found, cost = ring.add(x, y), ring.cost
    unit.cpu(adds=found.size * cost.sum_adds, multiplies=found.size * cost.sum_multiplies)
    return found


def multiply(unit: TensorUnit, ring: Ring, x: Array, y: Array) -> Array:
    """``x y``, element by element, charged."""
    found, cost = ring.multiply(x, y), ring.cost
    unit.cpu(adds=found.size * cost.product_adds, multiplies=found.size * cost.product_multiplies)
    return found


def moved(unit: TensorUnit, ring: Ring, x: Array) -> Array:
    """``x`` in the order of its axes in memory, a copy: moves of its words."""
    unit.cpu(moves=x.size * ring.cost.words)
    return np.array(x, order="C")


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


KINDS = ("fp32", "fp64", "complex64", "complex", "modular")


def dft(unit: TensorUnit, x: Array, modulus: int | None = None) -> Array:
    """``y[k] = sum of x[j] w^(j k)``, ``w = exp(-2 pi i / n)``, of signals of any length n.

    On complex words a call a level; on real words four, and two sums. Of modular words with a
    prime modulus, ``w`` is a root of order n modulo it, and the transform is exact; so it is on
    integer words if ``modulus`` is such a prime.

    Parameters
    ----------
    x: n numbers, or (count, n): signals, all transformed in the same calls

    Returns complex numbers (complex64 of fp32), or residues, as ``x`` is shaped.

    Raises
    ------
    TypeError and ValueError for other arrays, words, and lengths for which there are no roots.
    """
    return _either(unit, x, modulus, inverse=False)


def inverse_dft(unit: TensorUnit, x: Array, modulus: int | None = None) -> Array:
    """``y[k] = sum of x[j] w^(-j k) / n``: what undoes `dft`, at the same cost."""
    return _either(unit, x, modulus, inverse=True)


def root_modulo(unit: TensorUnit, n: int, modulus: int) -> int:
    """The ``w`` of transforms of ``n`` numbers modulo a prime, on such a unit."""
    given = modulus if isinstance(unit.words, Integers) else None
    return int(_ring(unit, n, given).roots(n, np.array([1]))[0])


def _ring(unit: TensorUnit, n: int, modulus: int | None) -> Ring:
    """The numbers of a transform of length ``n``."""
    words = unit.words
    if unit.s < 2:
        raise ValueError("`s` must be 2 or more for transforms, not 1")
    if modulus is not None and not isinstance(words, Integers):
        raise ValueError(f"`modulus` must come with words of integers, not {words.name}")
    if isinstance(words, Floats):
        return ComplexNumbers(words)
    if isinstance(words, Integers) and modulus is not None:
        most = largest_modulus(unit)
        if not 2 <= modulus <= most:
            raise ValueError(f"`modulus` must be in 2..{most} for {who_takes(unit)}, not {modulus}")
        return PrimeField(words, modulus, _order(n, unit.s, modulus))
    if isinstance(words, Integers):
        raise ValueError(f"`modulus` must be given for words of {words.name}: a prime")
    require(unit, "a transform", kinds=KINDS)
    assert isinstance(words, Residues)
    return PrimeField(words, words.modulus, _order(n, unit.s, words.modulus))


def _order(n: int, s: int, modulus: int) -> int:
    """Returns a number that the orders of all roots of a transform divide."""
    if radices(n, s) is not None or (modulus - 1) % n:
        return n
    return lcm(n, chirp_length(n, s, modulus - 1))


def _either(unit: TensorUnit, x: Array, modulus: int | None, inverse: bool) -> Array:
    shape = np.shape(x)
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"`x` must be a signal, or rows of signals, not of shape {shape}")
    ring = _ring(unit, shape[-1], modulus)
    rows = ring.array(x).reshape(-1, shape[-1])
    return rows_transformed(unit, ring, rows, inverse).reshape(shape)
