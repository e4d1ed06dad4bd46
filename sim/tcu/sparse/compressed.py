"""A product compressed: sums of the entries of each bucket, and sums that tell who is alone in it.

Source: Jacob, Stoeckel, "Fast output-sensitive matrix multiplication", which the paper cites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dense.bilinear import Bilinear
from ..dense.recursive import recursive
from ..dense.tall import rectangular
from ..formulas.sparse import Sizes
from ..tensor_unit import TensorUnit, add, multiply
from ..words import Array
from .entries import Entries, summed

MOST_WORDS = 1 << 26
"""Most words of a compressed operand, or product."""


def largest_operand(sizes: Sizes) -> int:
    """Words of the largest of both operands and their product."""
    return max(sizes.high * sizes.inner, sizes.inner * sizes.wide, sizes.high * sizes.wide)


def multiplied(unit: TensorUnit, scheme: Bilinear | None, x: Array, y: Array) -> Array:
    """``x y`` of operands that need no padding: by tall calls; by a Strassen-like ``scheme`` in
    square blocks, as many as there are, which are added."""
    if scheme is None:
        return rectangular(unit, x, y)
    b = len(x)
    total = recursive(unit, scheme, x[:, :b], y[:b])
    for start in range(b, len(y), b):
        block = slice(start, start + b)
        total = add(unit, total, recursive(unit, scheme, x[:, block], y[block]))
    return total


@dataclass(frozen=True)
class Buckets:
    """Assigns each row, or column, to a bucket.

    Members
    -------
    count: of buckets
    of: the bucket of each
    single: whether every bucket has one row, or column, its own number
    """

    count: int
    of: Array

    @property
    def single(self) -> bool:
        return self.count == len(self.of)


def draw_buckets(unit: TensorUnit, rng: np.random.Generator, n: int, most: int) -> Buckets:
    """``n`` rows in ``min(n, most)`` buckets, as evenly as can be: a random permutation modulo the
    number of buckets, so that any two meet with a chance of at most one in ``most``. CPU: a move a
    row; none if every row has its own."""
    if most >= n:
        return Buckets(n, np.arange(n))
    unit.cpu(moves=n)
    return Buckets(most, rng.permutation(n) % most)


@dataclass(frozen=True)
class Compressed:
    """Sums over the entries of a bucket (row, column).

    Members
    -------
    values: of the entries
    by_row, by_column: of the entries times the numbers of their rows and columns; None where each
        bucket has but one row, or column
    """

    values: Array
    by_row: Array | None
    by_column: Array | None

    @property
    def sums(self) -> list[Array]:
        return [one for one in (self.values, self.by_row, self.by_column) if one is not None]


def compressed_product(
    unit: TensorUnit,
    a: Entries,
    b: Entries,
    known: Entries,
    buckets: tuple[Buckets, Buckets],
    sizes: Sizes,
    scheme: Bilinear | None,
) -> Compressed:
    """Computes A B less its ``known`` entries, compressed into buckets of rows and of columns.
    There are three products of ``sizes``; those by rows and by columns are left out where a bucket
    determines them.

    CPU: operands are written, an add an entry and a move a word; what is known is subtracted.
    """
    rows, columns = buckets
    high, inner, wide = sizes
    left = _lines(unit, a, (high, inner), rows.of[a.rows], a.columns, a.rows, rows)
    right = _lines(unit, b, (inner, wide), b.rows, columns.of[b.columns], b.columns, columns)
    places = rows.of[known.rows] * wide + columns.of[known.columns]

    def bucketed(x: Array, y: Array, number: Array | None) -> Array:
        made = multiplied(unit, scheme, x, y)
        values = known.values
        if number is not None:
            values = multiply(unit, values, unit.words.array(number))
        unit.cpu(adds=len(values))
        there = summed(unit.words, made.size, places, values).reshape(made.shape)
        return unit.words.subtract(made, there)[: rows.count, : columns.count]

    return Compressed(
        values=bucketed(left[0], right[0], None),
        by_row=None if rows.single else bucketed(left[1], right[0], known.rows),
        by_column=None if columns.single else bucketed(left[0], right[1], known.columns),
    )


def _lines(
    unit: TensorUnit,
    x: Entries,
    shape: tuple[int, int],
    rows: Array,
    columns: Array,
    numbers: Array,
    buckets: Buckets,
) -> list[Array]:
    """An operand compressed, and unless buckets are single the same with entries times the numbers
    of their rows or columns."""
    places = rows * shape[1] + columns
    values = [x.values]
    if not buckets.single:
        values.append(multiply(unit, x.values, unit.words.array(numbers)))
    size = shape[0] * shape[1]
    unit.cpu(adds=len(x) * len(values), moves=size * len(values))
    return [summed(unit.words, size, places, one).reshape(shape) for one in values]
