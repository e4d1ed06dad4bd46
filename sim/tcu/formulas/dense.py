"""Calls and rows of products of dense matrices (Theorems 1 and 2, Corollary 1)."""

from __future__ import annotations

from typing import NamedTuple

from ..blocks import multiple
from ..cost import UnitWork
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
        """Of squares."""
        return self.down * self.deep * self.across


def tall(n: int, s: int, weak: bool = False) -> UnitWork:
    """Matrices of side ``n``: q^2 calls of n rows, q = n / s."""
    return rectangular(n, n, n, s, weak)


def rectangular(n: int, k: int, p: int, s: int, weak: bool = False) -> UnitWork:
    """Matrices (n, k) and (k, p): a call of n rows a block of the right one; of p rows a block of
    the left one if `transposes` says so."""
    if transposes(n, k, p, s, weak):
        n, p = p, n
    return _a_call_a_block(n, k, p, s, weak)


def transposes(n: int, k: int, p: int, s: int, weak: bool = False) -> bool:
    """Whether ``B^T A^T`` takes fewer calls than ``A B``, or as many and fewer rows: it does if A
    has fewer blocks than B, and never on a weak unit, whose calls are all alike."""
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


def in_squares(n: int, k: int, p: int, s: int, products: int, side: int = 2) -> UnitWork:
    """Matrices (n, k) and (k, p), each product of squares as `recursive`."""
    cut = squares(n, k, p, s, side)
    return recursive(cut.side, s, products, side) * cut.products


def recursive(n: int, s: int, products: int, side: int = 2) -> UnitWork:
    """Matrices of side ``n`` by a Strassen-like algorithm of p0 = ``products``, n0 = ``side``^2:
    p0^h calls of s rows, on a weak unit as on any."""
    calls = products ** levels(n, s, side)
    return UnitWork(calls, calls * s)


def standard(n: int, s: int, weak: bool = False) -> UnitWork:
    """The standard recursion, (p0, n0) = (8, 4)."""
    return recursive(n, s, 8)


def strassen(n: int, s: int, weak: bool = False) -> UnitWork:
    """Strassen's, (p0, n0) = (7, 4)."""
    return recursive(n, s, 7)
