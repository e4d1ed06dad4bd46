"""Lengths with prime factors above the unit's side: a transform as a convolution with a chirp.

Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform";
products of places are differences of triangular numbers, so that no root of a root is needed and
residues do as well: ``j k = T(j + k) - T(j) - T(k)``, ``T(x) = x (x - 1) / 2``.
"""

from __future__ import annotations

import numpy as np

from ..formulas.lengths import chirp_length, radices
from ..tensor_unit import TensorUnit
from ..words import Array
from .mixed_radix import mixed_radix
from .ring import Ring, multiply

__all__ = ["bluestein"]


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
