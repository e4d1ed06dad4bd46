"""Theorem 8: k sweeps of a linear stencil as one convolution of each block.

Source: section 3.6 of the paper.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..dense.rounding import smallest
from ..formulas.stencils import blocks_of, squarings
from ..formulas.transform import fast_length, smooth_part
from ..tensor_unit import TensorUnit, require
from ..transform.complex_numbers import ComplexNumbers
from ..transform.dft import Ring, add, moved, multiply, planes_transformed
from ..transform.residues import PrimeField, fields_for, together
from ..transform.rounding import (
    product_rounding,
    sum_rounding,
    transform_error,
    transform_underflow,
)
from ..words import Array
from ..words.floats import Floats
from ..words.integers import Integers, largest
from ..words.modular import Residues

# Bounds the errors of stencils of floats against direct sweeps without rounding.
#
# Norms and errors in the 2-norm follow the statements; what rounding does to a transform is
# `transform_error`. Sums of magnitudes bound the largest frequencies. Underflow has its own
# bounds; overflow is not covered.


class _Bound(NamedTuple):
    """Bounds of a plane: the sum of its magnitudes, its 2-norm, the 2-norm of its error."""

    total: float
    norm: float
    error: float


def stencil_error(total: float, k: int, s: int, words: Floats) -> float:
    """Bound of every cell's error in `stencil`, in units of the grid's largest cell.

    Parameters
    ----------
    total: sum of the magnitudes of the weights
    k, s: sweeps; side of the unit
    """
    weights, one_sweep = _Bound(total, total, 0.0), _Bound(total, total, 0.0)
    for reached, product in squarings(k):
        weights = _convolved(4 * reached + 1, s, words, weights, weights)
        # A result's magnitudes sum to the product of the sums, its norm is no larger.
        weights = weights._replace(norm=weights.total)
        if product:
            error = total * weights.error
            error += sum_rounding(9, words) * total * (weights.norm + weights.error)
            grown = weights.total * one_sweep.total
            weights = _Bound(grown, grown, error)
    # On real words a plane holds two blocks.
    blocks = math.sqrt(1 if words.dtype.kind == "c" else 2)
    cells = _Bound(blocks * 9 * k * k, blocks * 3 * k, 0.0)
    return _convolved(3 * k, s, words, cells, weights).error


def sweeps_error(total: float, k: int, words: Floats) -> float:
    """Bounds the error of ``k`` direct sweeps in the words: sums of nine products, one by one."""
    return math.expm1(k * math.log1p(sum_rounding(9, words))) * total**k


def stencil_underflow(total: float, k: int, s: int, words: Floats, largest: float) -> float:
    """Bounds what underflow adds to `stencil_error` times the ``largest`` magnitude of a cell."""
    weights, lost, swept = total, 0.0, total
    for reached, product in squarings(k):
        lost = _lost(4 * reached + 1, s, words, weights, weights, lost) + weights * lost
        weights = weights * weights
        if product:
            lost = total * lost + 18 * smallest(words)
            weights *= swept
    cells = 9 * k * k * largest * (1 if words.dtype.kind == "c" else 2)
    return _lost(3 * k, s, words, cells, weights, lost)


def sweeps_underflow(total: float, k: int, words: Floats) -> float:
    """Bounds the underflow of direct sweeps."""
    return 18 * smallest(words) * k * max(1.0, total) ** k


def _lost(least: int, s: int, words: Floats, x: float, y: float, lost: float) -> float:
    """Bounds the loss of a convolution by underflow, from sums of magnitudes and the earlier loss
    of every element of y. It is doubled for its own rounding."""
    length = fast_length(least, s)
    plane = transform_underflow(length, s, words) * (length + 1)
    return 2 * (plane * (x + y + 1 + plane) + x * (lost + smallest(words)) + 2 * smallest(words))


def _convolved(least: int, s: int, words: Floats, x: _Bound, y: _Bound) -> _Bound:
    """Bounds a convolution in two dimensions by transforms. Norms of frequencies are divided by the
    root of their number, the largest of them are not."""
    length = fast_length(least, s)
    one = math.expm1(2 * math.log1p(transform_error(length, s, words)))
    rounding = product_rounding(words)
    left = x.error + one * (x.norm + x.error)
    right = y.error + one * (y.norm + y.error)
    true = x.norm * y.total
    error = left * (y.total + length * right) + x.total * right
    error += rounding * (true + error)
    error = error * (1 + one) + one * true
    return _Bound(x.total * y.total, true, error)


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
    """Returns for each block along a side the 3 k places it reads; ``side`` itself is a zero."""
    starts = np.arange(-(-side // k)) * k - k
    places = starts[:, None] + np.arange(3 * k)
    if boundary == "periodic":
        return np.asarray(places % side)
    return np.where((places >= 0) & (places < side), places, side)


KINDS = ("fp32", "fp64", "complex64", "complex", "int64", "modular")


def stencil(
    unit: TensorUnit, grid: Array, weights: Array, steps: int, boundary: str = "periodic"
) -> Array:
    """``grid`` after ``steps`` sweeps, each of which makes ``a[i, j]`` the sum of
    ``weights[1 + x, 1 + y] a[i + x, j + y]`` for x and y in -1, 0, 1.

    The grid is cut into blocks of steps x steps cells, each convolved with the weights of all
    sweeps at once, 3 steps x 3 steps places or a little more; blocks share the calls of their
    transforms, and on real words two a transform. Any grid, and any number of steps (the paper
    wants an even one, and sides that it divides). Integers exactly, modulo as many primes as hold
    ``largest cell * sum of |weights| ** steps``; of modular words the result modulo their prime.

    Parameters
    ----------
    grid: (rows, columns)
    weights: (3, 3)
    steps: from 1
    boundary: "periodic": places modulo the sides; "open": an infinite plane that starts as zeros
        outside of the grid. Borders that are held fixed are no convolution, and refused.

    Raises
    ------
    TypeError and ValueError for anything else, and words without roots or primes that are needed;
    a WordOverflow for integers that do not fit.
    """
    words, k = unit.words, _checked(unit, steps, boundary)
    cells, taps = words.array(grid), words.array(weights)
    if cells.ndim != 2 or not cells.size:
        raise ValueError(f"`grid` must be a matrix, not empty, not of shape {cells.shape}")
    if taps.shape != (3, 3):
        raise ValueError(f"`weights` must be of shape (3, 3), not {taps.shape}")
    if isinstance(words, Integers):
        fields = exact_fields(unit, cells, taps, k)
        found = [_swept(unit, field, cells, taps, k, boundary) for field in fields]
        return together(unit, fields, found)
    if isinstance(words, Floats):
        return _swept(unit, ComplexNumbers(words), cells, taps, k, boundary)
    assert isinstance(words, Residues)
    field = PrimeField(words, words.modulus, smooth_part(words.modulus - 1, unit.s))
    return _swept(unit, field, cells, taps, k, boundary)


def exact_fields(unit: TensorUnit, grid: Array, weights: Array, k: int) -> list[PrimeField]:
    """The primes modulo which `stencil` computes with integers, as large as the unit takes, and as
    many as hold the result.

    Raises ValueError if there are not enough.
    """
    most = largest(grid) * sum(abs(int(tap)) for tap in weights.flat) ** k
    return fields_for(unit, fast_length(3 * k, unit.s), most)


def _checked(unit: TensorUnit, steps: int, boundary: str) -> int:
    if not isinstance(unit.words, Integers):
        require(unit, "a stencil", kinds=KINDS)
    if unit.s < 2:
        raise ValueError("`s` must be 2 or more for transforms, not 1")
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(f"`steps` must be an integer, not {type(steps).__name__}")
    if steps < 1:
        raise ValueError(f"`steps` must be 1 or more, not {steps}")
    if boundary not in BOUNDARIES:
        raise ValueError(f"`boundary` must be {' or '.join(BOUNDARIES)}, not {boundary!r}")
    return steps


def _swept(
    unit: TensorUnit, ring: Ring, grid: Array, weights: Array, k: int, boundary: str
) -> Array:
    length = fast_length(3 * k, unit.s, ring.order)
    # A sweep correlates: turned around, weights convolve. They are 2 k + 1 wide, so that places
    # 2 k to 3 k hold the block in the middle, and nothing that comes around reaches them.
    turned = ring.array(weights)[::-1, ::-1]
    all_sweeps = filled(unit, ring, power(unit, ring, turned, k), length)
    blocks = neighbourhoods(unit, ring, grid, k, length, boundary)
    seen = planes_transformed(unit, ring, blocks)
    product = multiply(unit, ring, seen, planes_transformed(unit, ring, all_sweeps[None]))
    found = planes_transformed(unit, ring, product, inverse=True)
    rows, columns = grid.shape
    middle = found[:, 2 * k : 3 * k, 2 * k : 3 * k]
    return assembled(unit, ring.unpacked(middle, blocks_of(rows, columns, k)), (rows, columns))
