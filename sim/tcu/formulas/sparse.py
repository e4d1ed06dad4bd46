"""Costs of output-sensitive products of sparse matrices (Theorem 3).

How many rounds there are, and how many entries each is made for, depends on the operands: a round
is a size here.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

from ..cost import Cost, UnitWork
from ..tensor_unit import multiple
from .dense import levels, rectangular, recursive

SPREAD = 2
"""c: there are c sqrt(Z) buckets of rows and of columns."""

ERROR_BITS = 60
"""A check is wrong with a chance of at most 2^-60."""


def buckets_for(entries: int, s: int) -> int:
    """``SPREAD * sqrt(entries)``, rounded up to a multiple of s: less would be streamed as
    long."""
    return multiple(isqrt(SPREAD * SPREAD * entries - 1) + 1, s) if entries else s


class Sizes(NamedTuple):
    """Sizes of compressed operands, padded for calls: (high, inner) and (inner, wide)."""

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


def exact_round(
    n: int, k: int, p: int, entries: int, s: int, weak: bool = False, *,
    left: int, right: int, known: int, summing: int, peeled: int,
    scheme: tuple[int, int, int] | None = None,
) -> Cost:  # fmt: skip
    """A round for ``entries`` of the product of (n, k) by (k, p): up to three products, by tall
    calls.

    Parameters
    ----------
    left, right: entries of the operands
    known: entries of the result, before
    summing: buckets whose values do not sum to zero
    peeled: entries that it finds
    scheme: products, additions and side of a Strassen-like algorithm
    """
    b, sizes = sizes_of(n, k, p, entries, s, weak, scheme[2] if scheme else 0)
    rows, columns = min(b, n), min(b, p)
    products = products_of(n, p, b)
    lines, wide_lines = 1 + (rows < n), 1 + (columns < p)
    found = _drawn(n, p, b)
    found += Cost(
        cpu_adds=left * lines + right * wide_lines,
        cpu_multiplies=left * (lines - 1) + right * (wide_lines - 1),
        cpu_moves=sizes.inner * (sizes.high * lines + sizes.wide * wide_lines),
    )
    found += _product(sizes, s, weak, scheme) * products
    found += Cost(cpu_adds=products * known, cpu_multiplies=(products - 1) * known)
    found += Cost(cpu_adds=products * rows * columns)
    found += Cost(cpu_adds=3 * (products - 1) * summing, cpu_multiplies=(products - 1) * summing)
    return found + Cost(cpu_adds=peeled, cpu_moves=3 * peeled)


def check(
    n: int, k: int, p: int, entries: int, vectors: int = 2, fields: int = 1, reduced: bool = False
) -> Cost:
    """Freivalds' check of (n, k) by (k, p): ``entries`` of all three; ``vectors`` modulo each of
    ``fields``, to which integers are ``reduced``."""
    a_vector = Cost(cpu_adds=entries + n, cpu_multiplies=entries, cpu_moves=p + k + 2 * n)
    return a_vector * (vectors * fields) + Cost(cpu_multiplies=0 if reduced else entries * fields)


def value_round(
    n: int, k: int, p: int, entries: int, s: int, weak: bool = False,
    left: int = 0, right: int = 0, structure: int = 0,
) -> Cost:  # fmt: skip
    """A product of floats for ``entries``, where so many of the ``structure`` are known."""
    b, sizes = sizes_of(n, k, p, entries, s, weak)
    found = _drawn(n, p, b) + _product(sizes, s, weak, None)
    moves = sizes.inner * (sizes.high + sizes.wide) + left + right
    moves += min(b, n) * min(b, p) + structure
    return found + Cost(cpu_adds=structure, cpu_moves=moves)


def spmul(n: int, entries: int, inputs: int, s: int, weak: bool = False) -> Cost:
    """Matrices of side ``n`` and so many ``inputs`` in both, in one round for ``entries``, which
    are the result's and all alone in their buckets: checks before and behind it included."""
    half = inputs // 2
    found = exact_round(
        n, n, n, entries, s, weak, left=inputs - half, right=half, known=0, summing=entries,
        peeled=entries,
    )  # fmt: skip
    return check(n, n, n, inputs) + found + check(n, n, n, inputs + entries)


def _drawn(n: int, p: int, b: int) -> Cost:
    return Cost(cpu_moves=n * (b < n) + p * (b < p))


def _product(sizes: Sizes, s: int, weak: bool, scheme: tuple[int, int, int] | None) -> Cost:
    high, inner, wide = sizes
    if scheme is None:
        return rectangular(high, inner, wide, s, weak)
    products, additions, side = scheme
    blocks = inner // high
    found = recursive(high, s, products, additions, side) * blocks
    return found + Cost(cpu_adds=(blocks - 1) * high * high)


def round_of(n: int, k: int, p: int, entries: int, s: int, weak: bool = False) -> UnitWork:
    """Calls and rows of an exact round, by tall calls."""
    return exact_round(
        n, k, p, entries, s, weak, left=0, right=0, known=0, summing=0, peeled=0
    ).work
