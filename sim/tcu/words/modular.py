"""Residues modulo a number, 0..p - 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .integers import KeptInInt64, exact_product
from .kind import Array, cannot, need_matrices

__all__ = ["Residues", "modular"]

_INT64_HOLDS = 1 << 63
_HIGHEST = 1 << 62
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases of Miller and Rabin that decide every number below 2**64 (Sorenson and Webster, "Strong
pseudoprimes to twelve prime bases")."""


def _is_prime(p: int) -> bool:
    if p in _WITNESSES or any(p % base == 0 for base in _WITNESSES):
        return p in _WITNESSES
    twos = ((p - 1) & (1 - p)).bit_length() - 1
    for base in _WITNESSES:
        power = pow(base, (p - 1) >> twos, p)
        squares = [pow(power, 1 << i, p) for i in range(twos)]
        if power != 1 and p - 1 not in squares:
            return False
    return True


@dataclass(frozen=True)
class Residues(KeptInInt64):
    """Residues modulo ``modulus``, kept in int64 in 0..``modulus`` - 1; they divide if it is a
    prime."""

    modulus: int

    def __post_init__(self) -> None:
        if isinstance(self.modulus, bool) or not isinstance(self.modulus, int):
            raise TypeError(f"`modulus` must be an integer, not {type(self.modulus).__name__}")
        if not 2 <= self.modulus <= _HIGHEST:
            raise ValueError(f"`modulus` must be in 2..2**62, not {self.modulus}")

    @property
    def kind(self) -> str:
        return "modular"

    @property
    def name(self) -> str:
        return f"modular({self.modulus})"

    @property
    def divides(self) -> bool:
        return _is_prime(self.modulus)

    def array(self, x: npt.ArrayLike) -> Array:
        """Does as :meth:`Words.array`; integers of any sign and size are reduced."""
        given = np.asarray(x)
        if given.dtype.kind == "O" and all(isinstance(n, int | np.integer) for n in given.flat):
            reduced = [int(n) % self.modulus for n in given.flat]
            return np.array(reduced, np.int64).reshape(given.shape)
        if given.dtype.kind not in "biu":
            raise TypeError(f"words of {self.name} must be integers, not {given.dtype}")
        if given.dtype == np.uint64:
            return (given % np.uint64(self.modulus)).astype(np.int64)
        held = given.astype(np.int64, copy=False)
        inside = held.size == 0 or (held.min() >= 0 and held.max() < self.modulus)
        return held if inside else held % self.modulus

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray((x + y) % self.modulus)

    def subtract(self, x: Array, y: Array) -> Array:
        return np.asarray((x - y) % self.modulus)

    def multiply(self, x: Array, y: Array) -> Array:
        if (self.modulus - 1) ** 2 < _INT64_HOLDS:
            return np.asarray(x * y % self.modulus)
        wide = np.asarray(x).astype(object) * y % self.modulus
        return np.asarray(wide).astype(np.int64)

    def divide(self, x: Array, y: Array) -> Array:
        if not self.divides:
            raise cannot(self, "divided")
        if not np.all(y):
            raise ZeroDivisionError(f"zero has no inverse in {self.name}")
        inverses = [pow(int(n), -1, self.modulus) for n in np.asarray(y).flat]
        return self.multiply(x, np.array(inverses, np.int64).reshape(np.shape(y)))

    def product(self, a: Array, b: Array) -> Array:
        need_matrices(a, b)
        bits = self.modulus.bit_length()
        half = bits // 2
        if a.shape[1] << (2 * bits - half) < _INT64_HOLDS < a.shape[1] << 2 * bits:
            # Halves of A, so that sums of products fit; reduced, the upper is shifted back.
            upper = exact_product(a >> half, b) % self.modulus
            lower = exact_product(a & ((1 << half) - 1), b) % self.modulus
            return np.asarray(((upper << half) + lower) % self.modulus)
        return np.asarray(exact_product(a, b) % self.modulus).astype(np.int64)


def modular(modulus: int) -> Residues:
    """Words of residues modulo a number in 2..2**62."""
    return Residues(modulus)
