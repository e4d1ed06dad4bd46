"""Theorem 8: k sweeps of a linear stencil as one convolution of each block.

Source: section 3.6 of the paper.
"""

from __future__ import annotations

from ..formulas.lengths import fast_length, smooth_part
from ..formulas.stencils import blocks_of
from ..tensor_unit import TensorUnit, require
from ..transform.complex_numbers import ComplexNumbers
from ..transform.exact import fields_for, together
from ..transform.residues import PrimeField
from ..transform.ring import Ring, multiply
from ..transform.rows import planes_transformed
from ..words import Array
from ..words.exact_products import largest
from ..words.floats import Floats
from ..words.integers import Integers
from ..words.modular import Residues
from .neighbourhoods import BOUNDARIES, assembled, neighbourhoods
from .powers import filled, power

__all__ = ["exact_fields", "stencil"]

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
