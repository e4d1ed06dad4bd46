"""Calls and rows of output-sensitive products of sparse matrices (Theorem 3).

How many rounds there are, and how many entries each is made for, depends on the operands: a round
is a size here.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

from ..blocks import multiple
from ..cost import UnitWork
from . import dense
from .dense import levels

__all__ = [
    "ERROR_BITS",
    "SPREAD",
    "Sizes",
    "buckets_for",
    "products_of",
    "round_of",
    "sizes_of",
    "spmul",
]

SPREAD = 2
"""c: there are c sqrt(Z) buckets of rows and of columns."""

ERROR_BITS = 60
"""A check is wrong with a chance of at most 2^-60."""


def buckets_for(entries: int, s: int) -> int:
    """``SPREAD * sqrt(entries)``, rounded up to a multiple of s: less would be streamed as
    long."""
    return multiple(isqrt(SPREAD * SPREAD * entries - 1) + 1, s) if entries else s


class Sizes(NamedTuple):
    """Of compressed operands, padded as calls take them: (high, inner) and (inner, wide)."""

    high: int
    inner: int
    wide: int


def sizes_of(
    n: int, k: int, p: int, entries: int, s: int, weak: bool = False, side: int = 0
) -> tuple[int, Sizes]:
    """Buckets for ``entries`` of the product of (n, k) by (k, p), and the sizes of what is
    multiplied; for a recursion by ``side`` a power of it times s, if that is not 0."""
    b = buckets_for(entries, s)
    if side:
        b = s * side ** levels(min(b, max(n, p)), s, side)
        return b, Sizes(b, multiple(k, b), b)
    rows = multiple(min(b, n), s) if weak else max(min(b, n), s)
    return b, Sizes(rows, multiple(k, s), multiple(min(b, p), s))


def products_of(n: int, p: int, buckets: int) -> int:
    """Compressed products of a round: of values, and those by row and by column unless each row, or
    column, has a bucket of its own."""
    return 1 + (buckets < n) + (buckets < p)


def round_of(n: int, k: int, p: int, entries: int, s: int, weak: bool = False) -> UnitWork:
    """A round for ``entries`` of the product of (n, k) by (k, p): up to three products by tall
    calls."""
    b, sizes = sizes_of(n, k, p, entries, s, weak)
    return dense.rectangular(*sizes, s, weak) * products_of(n, p, b)


def spmul(n: int, entries: int, s: int, weak: bool = False, inputs: int = 0) -> UnitWork:
    """Matrices of side ``n``, one round for ``entries`` of the product. Rounds add up."""
    return round_of(n, n, n, entries, s, weak)
