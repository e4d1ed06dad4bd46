"""Theorem 3: the product of sparse matrices in time that depends on the entries of the result.

Source: section 3.1 of the paper, and the algorithm that it cites (Jacob, Stoeckel, "Fast
output-sensitive matrix multiplication", the balanced case), on which the paper's claim rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..dense.bilinear import Bilinear
from ..dense.tall import rectangular
from ..formulas.sparse import Sizes, sizes_of, value_round
from ..tensor_unit import TensorUnit
from ..words import INT64, Array
from ..words.floats import Floats
from ..words.integers import Integers, largest
from ..words.modular import Residues
from .compressed import (
    MOST_WORDS,
    Buckets,
    Compressed,
    compressed_product,
    draw_buckets,
    largest_operand,
)
from .entries import Entries, sparse_operands
from .freivalds import fields_for, is_product

# Values of floats where the structure of a product is known.
#
# An entry that is alone in its bucket has its true value there, as if nothing had been compressed:
# where one of its two lines of the compressed operands mixes entries of several rows, or columns,
# the other is zero, or a second entry would be in the bucket. So operands are written, not summed,
# and errors are those of the sum of its terms.


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
    """Returns the contents of each entry's bucket, and whether the entry is alone in it. CPU:
    operands are written, one add and one move per entry of the structure."""
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


class Peeled(NamedTuple):
    """Entries and buckets that a compressed product determines.

    Members
    -------
    rows, columns, values: of entries that look alone in their bucket; a few are not
    summing: buckets whose values do not sum to zero
    left: buckets of more than one entry
    """

    rows: Array
    columns: Array
    values: Array
    summing: int
    left: int


def peel(unit: TensorUnit, found: Compressed, rows: Buckets, columns: Buckets) -> Peeled:
    """The entries that are alone in their bucket.

    CPU: an add a bucket and sum, to see which are not zero; a division and three comparisons for
    each number that is read, of a bucket whose values do not sum to zero.
    """
    unit.cpu(adds=sum(one.size for one in found.sums))
    full = np.logical_or.reduce([one != 0 for one in found.sums])
    at_row, at_column = np.nonzero(found.values)
    values = found.values[at_row, at_column]
    numbers, alone = [], np.ones(len(values), bool)
    for weighted, buckets, place in (
        (found.by_row, rows, at_row),
        (found.by_column, columns, at_column),
    ):
        if weighted is None:
            numbers.append(place)
            continue
        number, sound = _number(unit, weighted[at_row, at_column], values, buckets, place)
        numbers.append(number)
        alone &= sound
    left = int(np.count_nonzero(full) - np.count_nonzero(alone))
    return Peeled(numbers[0][alone], numbers[1][alone], values[alone], len(values), left)


def _number(
    unit: TensorUnit, weighted: Array, values: Array, buckets: Buckets, place: Array
) -> tuple[Array, Array]:
    """The number of the row or column, and whether it is one of the bucket."""
    unit.cpu(multiplies=len(values), adds=3 * len(values))
    if isinstance(unit.words, Integers):
        # The lowest integer over -1 is no number of a row.
        with np.errstate(over="ignore", divide="ignore"):
            number, rest = np.divmod(weighted, values)
    else:
        number, rest = unit.words.divide(weighted, values), np.zeros_like(values)
    sound = (rest == 0) & (number >= 0) & (number < len(buckets.of))
    number = np.where(sound, number, 0)
    return number, sound & (buckets.of[number] == place)


MOST_ROUNDS = 64
"""Most rounds; after them every row and every column has a bucket of its own."""


@dataclass(frozen=True)
class Round:
    """Sizes of a round, as the formulas take them.

    Members
    -------
    entries: Z, for which buckets were made
    buckets: of rows and of columns
    products: compressed ones
    known: entries of the result known before, which are subtracted
    summing: buckets whose values did not sum to zero, of which numbers were read
    peeled: entries that looked alone
    left: buckets of more than one entry
    kept: entries known behind it
    """

    entries: int
    buckets: tuple[int, int]
    products: int
    known: int
    summing: int
    peeled: int
    left: int
    kept: int


@dataclass(frozen=True)
class SparseProduct:
    """The result, and how it came.

    Members
    -------
    result: its entries: of exact words those that are not zero, of floats all that any two entries
        of the operands add to, though their sum be zero
    rounds: of exact words, for the structure
    value_rounds: of floats, for the values
    terms: entries of rows and columns that the CPU went through for values of floats
    fields: primes modulo which it was checked
    """

    result: Entries
    rounds: tuple[Round, ...]
    value_rounds: tuple[ValueRound, ...] = ()
    terms: int = 0
    fields: int = 1


def spmul(
    unit: TensorUnit,
    a: Any,
    b: Any,
    *,
    entries: int | None = None,
    seed: int = 0,
    scheme: Bilinear | None = None,
    structure_latency: float | None = None,
) -> SparseProduct:
    """``a b`` of matrices (n, k) and (k, p), dense or SciPy's sparse ones.

    Rounds of up to three products, (c sqrt(Z), k) by (k, c sqrt(Z)), by tall calls or a Strassen-
    like ``scheme``, until Freivalds' check passes: wrong with a chance of at most 2^-60 a check,
    2^-53 in all. Exact words are integers, or residues modulo a prime that is no less than n and p.
    Of floats the structure comes so, on int64 words of the same backend from counts of terms; then
    values come from the unit or the CPU, where that takes fewer words, by tall calls. Costs of all
    are ``unit``'s.

    Parameters
    ----------
    entries: Z, to begin with; m if not given
    seed: of all that is drawn
    structure_latency: l of calls on int64 words, where words are floats; the unit's if not given

    Raises TypeError and ValueError for other words and operands, and where compressed operands
    would have more than ``MOST_WORDS``; a WordOverflow for integers whose sums, times numbers of
    rows and columns, do not fit.
    """
    if entries is not None and (isinstance(entries, bool) or not isinstance(entries, int)):
        raise TypeError(f"`entries` must be an integer, not {type(entries).__name__}")
    if entries is not None and entries < 1:
        raise ValueError(f"`entries` must be 1 or more, not {entries}")
    rng = np.random.default_rng(seed)
    x, y = sparse_operands(a, b, unit.words)
    first = unit.m if entries is None else entries
    if not isinstance(unit.words, Floats):
        _check_words(unit, x, y)
        return _exactly(unit, x, y, first, rng, scheme)
    for name, one in (("a", x), ("b", y)):
        if not np.all(np.isfinite(one.values)):
            raise ValueError(f"`{name}` must hold finite numbers")
    counting = unit.beside(INT64, structure_latency)
    left, right = (
        Entries(one.shape, one.rows, one.columns, np.ones(len(one), np.int64)) for one in (x, y)
    )
    found = _exactly(counting, left, right, first, rng, scheme)
    values, rounds, terms = values_at(unit, x, y, found.result, rng)
    structure = found.result
    result = Entries(structure.shape, structure.rows, structure.columns, values)
    return SparseProduct(result, found.rounds, rounds, terms, found.fields)


def _check_words(unit: TensorUnit, x: Entries, y: Entries) -> None:
    words, most = unit.words, max(x.shape[0], y.shape[1])
    if isinstance(words, Residues):
        if not words.divides or words.modulus < most:
            raise ValueError(
                f"words of spmul must be modulo a prime of {most} or more, not {words.name}"
            )
    elif not isinstance(words, Integers):
        raise ValueError(f"words of spmul must be integers, modular or floats, not {words.name}")


def _exactly(
    unit: TensorUnit,
    a: Entries,
    b: Entries,
    first: int,
    rng: np.random.Generator,
    scheme: Bilinear | None,
) -> SparseProduct:
    """Runs rounds until the check passes. Z is doubled after a round that peels fewer entries than
    it leaves buckets; else it is four times the rest, but at least a quarter of Z."""
    (n, k), p = a.shape, b.shape[1]
    most = k * largest(a.values) * largest(b.values)
    if isinstance(unit.words, Residues):
        most = unit.words.modulus
    fields = fields_for(unit.words, 2 * most)
    nothing = np.zeros(0, np.int64)
    known = Entries.at((n, p), nothing, nothing)
    rounds: list[Round] = []
    z = first
    while not is_product(unit, rng, a, b, known, fields):
        if len(rounds) >= MOST_ROUNDS:
            z = max(n, p) ** 2
        count, sizes = sizes_of(n, k, p, z, unit.s, unit.weak, scheme.side if scheme else 0)
        _check_sizes(sizes, z)
        rows, columns = (draw_buckets(unit, rng, length, count) for length in (n, p))
        found = compressed_product(unit, a, b, known, (rows, columns), sizes, scheme)
        peeled = peel(unit, found, rows, columns)
        before = len(known)
        known = _with(unit, known, peeled.rows * p + peeled.columns, peeled.values, most)
        done = Round(
            entries=z,
            buckets=(rows.count, columns.count),
            products=len(found.sums),
            known=before,
            summing=peeled.summing,
            peeled=len(peeled.values),
            left=peeled.left,
            kept=len(known),
        )
        rounds.append(done)
        failed = done.peeled < max(1, done.left)
        z = 2 * z if failed else max(z // 4, 4 * done.left, 1)
    return SparseProduct(known, tuple(rounds), fields=len(fields))


def _check_sizes(sizes: Sizes, entries: int) -> None:
    words = largest_operand(sizes)
    if words > MOST_WORDS:
        raise ValueError(
            f"compressed operands must have at most {MOST_WORDS} words, not {words}, as for "
            f"{entries} entries of the product"
        )


def _with(unit: TensorUnit, known: Entries, places: Array, values: Array, most: int) -> Entries:
    """Merges known and new entries; entries of one place are added. Integers beyond ``most``, which
    no entry can be, are dropped. CPU: one add and three moves per new entry."""
    unit.cpu(adds=len(values), moves=3 * len(values))
    all_places = np.concatenate([known.places, places])
    all_values = np.concatenate([known.values, values])
    there, which = np.unique(all_places, return_inverse=True)
    # Sums of Python's integers, as those that are dropped may not fit a word.
    wide = 2 * largest(all_values) >> 63
    total = np.zeros(len(there), object if wide else np.int64)
    np.add.at(total, which, all_values.astype(object) if wide else all_values)
    if isinstance(unit.words, Residues):
        total = total % unit.words.modulus
    else:
        bits = unit.words.bits if isinstance(unit.words, Integers) else 64
        total[abs(total) > min(most, (1 << (bits - 1)) - 1)] = 0
    kept = total != 0
    return Entries.at(known.shape, there[kept], total[kept].astype(np.int64))
