"""Freivalds' check: whether a matrix is a product, by vectors.

Source: Freivalds, "Probabilistic machines can use less running time".
"""

from __future__ import annotations

from itertools import islice
from math import ceil, log2, prod

import numpy as np

from ..formulas.sparse import ERROR_BITS
from ..tensor_unit import TensorUnit
from ..transform.residues import primes_with_roots
from ..words import Array, Words, modular
from ..words.modular import Residues
from .entries import Entries, summed

__all__ = ["fields_for", "is_product", "vectors_for"]

_LARGEST_PRIME = (1 << 31) - 1
"""Products of residues fit a word of 64 bits."""


def fields_for(words: Words, most: int) -> list[Residues]:
    """Modulo what integers are looked at, so that one from 1 to ``most`` vanishes not everywhere;
    of residues the words themselves."""
    if isinstance(words, Residues):
        return [words]
    count = 1
    while prod(islice(primes_with_roots(1, _LARGEST_PRIME), count)) <= most:
        count += 1
    return [modular(prime) for prime in islice(primes_with_roots(1, _LARGEST_PRIME), count)]


def vectors_for(field: Residues) -> int:
    """Vectors by which a wrong matrix passes with a chance of at most 2^-60."""
    return ceil(ERROR_BITS / log2(field.modulus))


def is_product(
    unit: TensorUnit,
    rng: np.random.Generator,
    a: Entries,
    b: Entries,
    c: Entries,
    fields: list[Residues],
) -> bool:
    """Tests whether A (B x) = C x for random vectors x. It accepts every true product, and a wrong
    one with a probability of at most 2^-60, unless a difference vanishes in all fields.

    CPU: for each vector a multiplication and an add for each entry of the three, moves and
    comparisons for the vectors; modulo primes of integers a division an entry before.
    """
    sound = True
    for field in fields:
        values = [one.values for one in (a, b, c)]
        if unit.words != field:
            values = [one % field.modulus for one in values]
            unit.cpu(multiplies=sum(map(len, values)))
        for _ in range(vectors_for(field)):
            x = rng.integers(0, field.modulus, b.shape[1])
            unit.cpu(moves=len(x))
            inner = _times(unit, field, b, values[1], x)
            made = _times(unit, field, a, values[0], inner)
            claimed = _times(unit, field, c, values[2], x)
            unit.cpu(adds=len(made))
            sound &= np.array_equal(made, claimed)
    return sound


def _times(
    unit: TensorUnit, field: Residues, matrix: Entries, values: Array, vector: Array
) -> Array:
    terms = field.multiply(values, vector[matrix.columns])
    unit.cpu(adds=len(terms), multiplies=len(terms), moves=matrix.shape[0])
    return summed(field, matrix.shape[0], matrix.rows, terms)
