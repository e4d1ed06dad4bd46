"""Entries that are alone in their bucket: the sums by row and by column are theirs times a number
that must be one of a row, or column, of the bucket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array
from ..words.integers import Integers
from .compressed import Compressed
from .hashing import Buckets

__all__ = ["Peeled", "peel"]


class Peeled(NamedTuple):
    """What a compressed product tells.

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
