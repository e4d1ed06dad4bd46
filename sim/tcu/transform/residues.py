"""Residues modulo a prime, on units that reduce and on units of integers, where the CPU does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..formulas.number_cost import INTEGERS, RESIDUES, NumberCost
from ..hardware.tally import HardwareBackend
from ..streaming import stream
from ..tensor_unit import TensorUnit
from ..words import Array, Words, modular
from ..words.integers import Integers
from .primes import root_of_unity

__all__ = ["PrimeField", "largest_modulus", "who_takes"]


@dataclass(frozen=True)
class PrimeField:
    """Residues modulo a prime on ``words``: modular ones of this prime, or integers.

    Parameters
    ----------
    words: of the unit
    modulus: the prime
    order: that orders of roots divide: a divisor of ``modulus - 1``; all are powers of one root

    Raises ValueError for what is no prime, and an order that it has not.
    """

    words: Words
    modulus: int
    order: int

    def __post_init__(self) -> None:
        if not self._residues.divides:
            raise ValueError(f"`modulus` must be a prime, not {self.modulus}")
        if (self.modulus - 1) % self.order:
            raise ValueError(
                f"lengths of {self.name} must divide {self.modulus - 1}, not {self.order}"
            )

    @property
    def name(self) -> str:
        return f"residues modulo {self.modulus}"

    @property
    def _reduces(self) -> bool:
        return not isinstance(self.words, Integers)

    @property
    def _residues(self) -> Words:
        return modular(self.modulus)

    @cached_property
    def _root(self) -> int:
        return root_of_unity(self.order, self.modulus)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    @property
    def cost(self) -> NumberCost:
        return RESIDUES if self._reduces else INTEGERS

    def array(self, x: npt.ArrayLike) -> Array:
        return self._residues.array(x)

    def plain(self, x: Array) -> Array:
        return x

    def packed(self, x: Array) -> Array:
        return self.array(x)

    def unpacked(self, x: Array, count: int) -> Array:
        return x

    def roots(self, n: int, exponents: Array, divisor: int = 1) -> Array:
        root = pow(self._root, self.order // n, self.modulus)
        first = pow(divisor, -1, self.modulus)
        powers = [first]
        for _ in range(1, n):
            powers.append(powers[-1] * root % self.modulus)
        return np.array(powers, np.int64)[np.asarray(exponents) % n]

    def product(self, unit: TensorUnit, a: Array, b: Array) -> Array:
        found = stream(unit, a, b)
        return found if self._reduces else found % self.modulus

    def multiply(self, x: Array, y: Array) -> Array:
        return self._residues.multiply(x, y)

    def add(self, x: Array, y: Array) -> Array:
        return self._residues.add(x, y)


def largest_modulus(unit: TensorUnit) -> int:
    """The largest number modulo which residues can be multiplied by a unit of integers, s products
    to a sum: as its words allow, and its hardware if there is any."""
    words, backend = unit.words, unit.backend
    assert isinstance(words, Integers)
    operand_bits = result_bits = words.bits
    held = backend.kind.holds(words, unit.s) if isinstance(backend, HardwareBackend) else None
    if held is not None:
        operand_bits = min(operand_bits, held.operand_bits)
        result_bits = min(result_bits, held.result_bits)
    by_sums = math.isqrt(((1 << (result_bits - 1)) - 1) // unit.s) + 1
    return min(by_sums, 1 << (operand_bits - 1))


def who_takes(unit: TensorUnit) -> str:
    """Names the words and the unit that have no larger moduli, for messages."""
    on = f" on {unit.backend.name}" if isinstance(unit.backend, HardwareBackend) else ""
    return f"{unit.words.name}{on} and a unit of side {unit.s}"
