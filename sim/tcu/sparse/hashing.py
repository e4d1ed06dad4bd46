"""Rows and columns thrown into buckets at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..tensor_unit import TensorUnit
from ..words import Array

__all__ = ["Buckets", "draw_buckets"]


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
