"""Values of floats where the structure of a product is known.

An entry that is alone in its bucket has its true value there, as if nothing had been compressed:
where one of its two lines of the compressed operands mixes entries of several rows, or columns, the
other is zero, or a second entry would be in the bucket. So operands are written, not summed, and
errors are those of the sum of its terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dense.tall import rectangular
from ..formulas.sparse import sizes_of, value_round
from ..tensor_unit import TensorUnit
from ..words import Array
from .entries import Entries
from .hashing import draw_buckets
from .layouts import MOST_WORDS, largest_operand

__all__ = ["ValueRound", "values_at"]


class ValueRound(NamedTuple):
    """A product of values: ``entries`` for which buckets were made, ``wanted`` that had no value
    before, ``found`` of them that were alone."""

    entries: int
    wanted: int
    found: int


def values_at(
    unit: TensorUnit, a: Entries, b: Entries, structure: Entries, rng: np.random.Generator
) -> tuple[Array, tuple[ValueRound, ...], int]:
    """Values of a product's entries; the rounds, and the terms that the CPU went through.

    One product after the other as long as it takes less time than what is left by the CPU (for
    each entry its row of A and its column of B, three words an entry of both), and its operands
    fit. Z is doubled behind a product that finds fewer than half.
    """
    (n, k), p = a.shape, b.shape[1]
    of_row = np.bincount(a.rows, minlength=n)
    of_column = np.bincount(b.columns, minlength=p)
    terms = of_row[structure.rows] + of_column[structure.columns]
    values = np.zeros(len(structure), unit.words.dtype)
    wanted = np.ones(len(structure), bool)
    rounds: list[ValueRound] = []
    z = len(structure)
    while wanted.any():
        sizes = sizes_of(n, k, p, z, unit.s, unit.weak)[1]
        cost = value_round(n, k, p, z, unit.s, unit.weak, len(a), len(b), len(structure))
        if largest_operand(sizes) > MOST_WORDS:
            break
        if 3 * terms[wanted].sum() <= cost.unit_time(unit.s, unit.latency) + cost.cpu:
            break
        sums, alone = _a_product(unit, a, b, structure, z, rng)
        new = wanted & alone
        values[new] = sums[new]
        before = int(wanted.sum())
        wanted &= ~alone
        rounds.append(ValueRound(z, before, int(new.sum())))
        if 2 * rounds[-1].found < before:
            z *= 2
    rest = np.flatnonzero(wanted)
    _by_terms(unit, a, b, structure, rest, values)
    total = int(terms[rest].sum())
    unit.cpu(adds=2 * total, multiplies=total)
    return values, tuple(rounds), total


def _a_product(
    unit: TensorUnit,
    a: Entries,
    b: Entries,
    structure: Entries,
    z: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """What is in the bucket of each entry, and whether the entry is alone in it. CPU: operands are
    written, an add and a move an entry of the structure."""
    (n, k), p = a.shape, b.shape[1]
    count, (high, inner, wide) = sizes_of(n, k, p, z, unit.s, unit.weak)
    rows, columns = (draw_buckets(unit, rng, length, count) for length in (n, p))
    left = np.zeros((high, inner), unit.words.dtype)
    left[rows.of[a.rows], a.columns] = a.values
    right = np.zeros((inner, wide), unit.words.dtype)
    right[b.rows, columns.of[b.columns]] = b.values
    unit.cpu(moves=left.size + len(a) + right.size + len(b))
    made = rectangular(unit, left, right).reshape(-1)
    places = rows.of[structure.rows] * wide + columns.of[structure.columns]
    unit.cpu(adds=len(structure), moves=rows.count * columns.count + len(structure))
    return made[places], np.bincount(places, minlength=len(made))[places] == 1


def _by_terms(
    unit: TensorUnit, a: Entries, b: Entries, structure: Entries, which: Array, values: Array
) -> None:
    """Values of some entries, each the sum of its row's and its column's terms in ascending
    order."""
    order = np.lexsort((b.rows, b.columns))
    rows_of_b, values_of_b = b.rows[order], b.values[order]
    starts_a = np.searchsorted(a.rows, np.arange(a.shape[0] + 1))
    starts_b = np.searchsorted(b.columns[order], np.arange(b.shape[1] + 1))
    words = unit.words
    for one in which:
        row, column = structure.rows[one], structure.columns[one]
        left = slice(starts_a[row], starts_a[row + 1])
        right = slice(starts_b[column], starts_b[column + 1])
        _, i, j = np.intersect1d(
            a.columns[left], rows_of_b[right], assume_unique=True, return_indices=True
        )
        terms = words.multiply(a.values[left][i], values_of_b[right][j])
        values[one] = terms.sum(dtype=words.dtype)
