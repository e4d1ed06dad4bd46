"""Integers without error from residues: as many primes as hold the result, put together again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array
from .primes import primes_with_roots
from .residues import PrimeField, largest_modulus, who_takes

__all__ = ["fields_for", "together"]


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
