"""Theorem 3: the product of sparse matrices in time that depends on the entries of the result.

Source: section 3.1 of the paper, and the algorithm that it cites (Jacob, Stoeckel, "Fast
output-sensitive matrix multiplication", the balanced case), on which the paper's claim rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dense.bilinear import Bilinear
from ..formulas.sparse import Sizes, sizes_of
from ..tensor_unit import TensorUnit
from ..words import INT64, Array
from ..words.exact_products import largest
from ..words.floats import Floats
from ..words.integers import Integers
from ..words.modular import Residues
from .compressed import compressed_product
from .entries import Entries, sparse_operands
from .freivalds import fields_for, is_product
from .hashing import draw_buckets
from .layouts import MOST_WORDS, largest_operand
from .peeling import peel
from .values import ValueRound, values_at

__all__ = ["MOST_ROUNDS", "Round", "SparseProduct", "spmul"]

MOST_ROUNDS = 64
"""After so many every row and every column has a bucket of its own."""


@dataclass(frozen=True)
class Round:
    """What a round did: the sizes that formulas take.

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
    """Rounds until the check passes. Z is doubled behind a round that peels fewer entries than it
    leaves buckets; else it is four times what is left, but a quarter at least."""
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
    """What is known and what came: entries of one place are added. Integers beyond ``most``, which
    no entry can be, are forgotten. CPU: an add and three moves for each that came."""
    unit.cpu(adds=len(values), moves=3 * len(values))
    all_places = np.concatenate([known.places, places])
    all_values = np.concatenate([known.values, values])
    there, which = np.unique(all_places, return_inverse=True)
    # Of Python's integers, as what is forgotten may not fit a word.
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
