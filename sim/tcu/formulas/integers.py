"""Calls and rows of products of long integers (Theorems 9 and 10); sizes are numbers of pieces."""

from __future__ import annotations

from ..cost import UnitWork
from .streaming import stream

__all__ = ["halvings", "karatsuba", "parts", "piece_bits", "product", "schoolbook", "sums_fit"]


def schoolbook(n: int, s: int, weak: bool = False) -> UnitWork:
    """Two integers of ``n`` pieces: ceil(n / m) calls of n + s - 1 rows."""
    return product(n, n, s, weak)


def product(p: int, q: int, s: int, weak: bool = False) -> UnitWork:
    """Integers of ``p`` and of ``q`` pieces, p >= q: ceil(q / m) calls of p + s - 1 rows."""
    return stream(p + s - 1, s, weak) * -(-q // (s * s))


def karatsuba(n: int, s: int, weak: bool = False, base: int = 0) -> UnitWork:
    """3^h products by the schoolbook, of ceil(n / 2^h) pieces.

    base: pieces from which on integers are halved; 0 for m, the most that are one call
    """
    h = halvings(n, s, base)
    return schoolbook(parts(n, h), s, weak) * 3**h


def halvings(n: int, s: int, base: int = 0) -> int:
    """h: how often ``n`` pieces are halved until there are at most ``base``."""
    h = 0
    while parts(n, h) > (base or s * s):
        h += 1
    return h


def parts(n: int, h: int) -> int:
    """Pieces of what is left of ``n`` after ``h`` halvings."""
    return -(-n // 2**h)


def piece_bits(s: int, bits: int = 64) -> int:
    """kappa': the most bits of a piece with 2 kappa' + log2 s < kappa, so that signed words of
    ``bits`` hold sums of ``s`` products; below 1 if there are none."""
    return (bits - 1 - (s - 1).bit_length()) // 2


def sums_fit(pieces: int, piece: int, bits: int = 64) -> bool:
    """Whether a signed word of ``bits`` holds a whole coefficient of the product, and the carry
    that comes to it: as many products of pieces of ``piece`` bits as the shorter integer has
    pieces."""
    return pieces << (2 * piece) <= 1 << (bits - 1)
