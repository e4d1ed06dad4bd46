"""Integers without error from residues: as many primes as hold the result, put together again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..formulas.transform import INTEGERS, RESIDUES, NumberCost
from ..hardware.held_words import HardwareBackend
from ..tensor_unit import TensorUnit, stream
from ..words import Array, Words, modular
from ..words.integers import Integers


def primes_with_roots(order: int, most: int) -> Iterator[int]:
    """The primes of at most ``most`` that are 1 modulo ``order``, from the largest down."""
    for candidate in range((most - 1) // order * order + 1, 2, -order):
        if modular(candidate).divides:
            yield candidate


def root_of_unity(n: int, prime: int) -> int:
    """A number whose powers modulo ``prime`` come back to 1 after ``n``, and not before.

    ``n`` must divide ``prime - 1``.
    """
    parts = [n // q for q in _prime_factors(n)]
    roots = (pow(base, (prime - 1) // n, prime) for base in range(1, prime))
    return next(root for root in roots if all(pow(root, part, prime) != 1 for part in parts))


def _prime_factors(n: int) -> list[int]:
    found = []
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            found.append(divisor)
        while n % divisor == 0:
            n //= divisor
        divisor += 1
    return [*found, n] if n > 1 else found


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


def fields_for(unit: TensorUnit, order: int, largest: int) -> list[PrimeField]:
    """Fields whose product tells all integers of at most ``largest`` apart, either sign.

    Primes are 1 modulo ``order``, and so small that the unit holds a sum of s products: its words,
    and its hardware, which may have less. Raises ValueError if there are not enough of them.
    """
    fields, product = [], 1
    words, most = unit.words, largest_modulus(unit)
    for prime in primes_with_roots(order, most):
        fields.append(PrimeField(words, prime, order))
        product *= prime
        if product > 2 * largest:
            return fields
    raise ValueError(
        f"primes of at most {most}, as {who_takes(unit)} take, that are 1 modulo {order} must hold "
        f"results of {largest.bit_length()} bits, which they do not"
    )


def together(unit: TensorUnit, fields: Sequence[PrimeField], residues: Sequence[Array]) -> Array:
    """The integers nearest to zero that have these residues, as words (Garner's algorithm).

    Charged a number: for each pair of primes an add and two multiplies, for each prime but the
    first a sum and a product, and a comparison. Raises a WordOverflow for what words do not hold.
    """
    digits: list[Array] = []
    for field, residue in zip(fields, residues, strict=True):
        digit = residue
        for earlier, known in zip(fields, digits, strict=False):
            inverse = pow(earlier.modulus, -1, field.modulus)
            digit = (digit - known) % field.modulus * inverse % field.modulus
        digits.append(digit)
    total, product = digits[0].astype(object), fields[0].modulus
    for field, digit in zip(fields[1:], digits[1:], strict=True):
        total = total + digit.astype(object) * product
        product *= field.modulus
    count, pairs, more = total.size, len(fields) * (len(fields) - 1) // 2, len(fields) - 1
    unit.cpu(adds=count * (pairs + more + 1), multiplies=count * (2 * pairs + more))
    return unit.words.array(np.where(total > product // 2, total - product, total))
