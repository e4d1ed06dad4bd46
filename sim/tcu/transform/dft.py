"""The discrete Fourier transform of a signal (Theorem 7), and its inverse."""

from __future__ import annotations

from math import lcm

import numpy as np

from ..formulas.lengths import chirp_length, radices
from ..tensor_unit import TensorUnit, require
from ..words import Array
from ..words.floats import Floats
from ..words.integers import Integers
from ..words.modular import Residues
from .complex_numbers import ComplexNumbers
from .residues import PrimeField, largest_modulus, who_takes
from .ring import Ring
from .rows import rows_transformed

__all__ = ["dft", "inverse_dft", "root_modulo"]

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
