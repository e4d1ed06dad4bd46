"""Costs of products of dense matrices (Theorems 1 and 2, Corollary 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..cost import Cost, UnitWork
from ..tensor_unit import multiple
from .streaming import stream

__all__ = [
    "Squares", "in_squares", "levels", "rectangular", "recursive", "squares", "standard",
    "strassen", "tall", "transposes",
]  # fmt: skip


class Squares(NamedTuple):
    """Matrices (n, k) and (k, p) in squares of a side.

    Parameters
    ----------
    side: of the squares
    down, deep, across: how many n, k and p are
    """

    side: int
    down: int
    deep: int
    across: int

    @property
    def products(self) -> int:
        """Number of products of squares."""
        return self.down * self.deep * self.across


def tall(n: int, s: int, weak: bool = False) -> Cost:
    """Matrices of side ``n``: q^2 calls of n rows, q = n / s; ``(q - 1) n^2`` words are
    added where s divides n."""
    return rectangular(n, n, n, s, weak)


def rectangular(n: int, k: int, p: int, s: int, weak: bool = False) -> Cost:
    """Matrices (n, k) and (k, p): a call of n rows a block of the right one, or of p rows a block
    of the left one if `transposes` says so; sums over k, and copies of what is padded."""
    if transposes(n, k, p, s, weak):
        n, p = p, n
    work = _a_call_a_block(n, k, p, s, weak)
    high, depth, width = multiple(n, s) if weak else max(n, s), multiple(k, s), multiple(p, s)
    moves = high * depth * ((high, depth) != (n, k)) + depth * width * ((depth, width) != (k, p))
    adds = (depth // s - 1) * high * width
    return Cost(work.calls, work.rows, cpu_adds=adds, cpu_moves=moves)


def transposes(n: int, k: int, p: int, s: int, weak: bool = False) -> bool:
    """Tells whether ``B^T A^T`` takes fewer calls than ``A B``, or as many and fewer rows. It does
    if A has fewer blocks than B, and never on a weak unit, whose calls are all alike."""
    turned, given = (_a_call_a_block(*ends, s, weak) for ends in ((p, k, n), (n, k, p)))
    return (turned.calls, turned.rows) < (given.calls, given.rows)


def _a_call_a_block(n: int, k: int, p: int, s: int, weak: bool) -> UnitWork:
    return stream(n, s, weak) * (multiple(k, s) // s * (multiple(p, s) // s))


def levels(n: int, s: int, side: int = 2) -> int:
    """Levels of recursion, by ``side`` each, from matrices of side ``n`` down to the unit's."""
    found = 0
    while s * side**found < n:
        found += 1
    return found


def squares(n: int, k: int, p: int, s: int, side: int = 2) -> Squares:
    """The least squares ``s * side**h`` from the smallest of n, k and p on."""
    wide = s * side ** levels(min(n, k, p), s, side)
    return Squares(wide, *(-(-length // wide) for length in (n, k, p)))


def recursive(n: int, s: int, products: int, additions: int, side: int = 2) -> Cost:
    """Matrices of side ``n`` by a Strassen-like algorithm of so many products and additions of
    blocks a level, none of which is a negation or a copy: products^h calls of s rows, on a weak
    unit as on any."""
    h = levels(n, s, side)
    calls, wide = products**h, s * side**h
    adds = sum(additions * products**i * (wide // side ** (i + 1)) ** 2 for i in range(h))
    return Cost(calls, calls * s, cpu_adds=adds, cpu_moves=2 * wide * wide * (wide != n))


def in_squares(
    n: int, k: int, p: int, s: int, products: int, additions: int, side: int = 2
) -> Cost:
    """Matrices (n, k) and (k, p) in squares: each as `recursive`, sums along k, copies of what is
    padded."""
    cut = squares(n, k, p, s, side)
    found = recursive(cut.side, s, products, additions, side) * cut.products
    high, depth, width = (cut.side * count for count in (cut.down, cut.deep, cut.across))
    moves = high * depth * ((high, depth) != (n, k)) + depth * width * ((depth, width) != (k, p))
    return replace(found, cpu_adds=found.cpu_adds + (cut.deep - 1) * high * width, cpu_moves=moves)


def standard(n: int, s: int, weak: bool = False) -> Cost:
    """The standard recursion: ``(2^h - 1) n^2`` words are added where n is ``s 2^h``."""
    return recursive(n, s, 8, 4)


def strassen(n: int, s: int, weak: bool = False) -> Cost:
    """Strassen's in Winograd's form: ``5 s^2 (7^h - 4^h)`` words are added where n is ``s 2^h``."""
    return recursive(n, s, 7, 15)
