"""Costs of products of long integers (Theorems 9 and 10); sizes are numbers of pieces."""

from __future__ import annotations

from ..cost import Cost
from .streaming import stream

__all__ = ["halvings", "karatsuba", "parts", "piece_bits", "product", "schoolbook", "sums_fit"]


def schoolbook(n: int, s: int, weak: bool = False, bits: int = 64, piece: int = 0) -> Cost:
    """Cost of a product of two integers of ``n`` pieces: ceil(n / m) calls of n + s - 1 rows; about
    3 n^2 / s + 11 n words, n^2 / s + 9 n if sums fit."""
    return product(n, n, s, weak, bits, piece)


def product(
    p: int, q: int, s: int, weak: bool = False, bits: int = 64, piece: int = 0
) -> Cost:  # fmt: skip
    """Integers of ``p`` and of ``q`` pieces, p >= q: ceil(q / m) calls of p + s - 1 rows. Every
    element of C' is added where it belongs, cut in two before where a word does not hold the sums;
    then carries.

    bits: of a word
    piece: bits of a piece; 0 for the most
    """
    columns, rows = -(-q // s), p + s - 1
    # The last column has elements beyond the lowest coefficient.
    elements = (columns - 1) * rows + p - 1 + q - (columns - 1) * s
    cut = not sums_fit(q, piece or piece_bits(s, bits), bits)
    blocks, one = -(-q // (s * s)), stream(rows, s, weak)
    return Cost(
        one.calls * blocks,
        one.rows * blocks,
        cpu_adds=elements * (1 + cut) + p + q,
        cpu_multiplies=elements * cut + p + q,
        cpu_moves=one.rows + s - 1 + blocks * s * s + p + q,
    )


def karatsuba(
    n: int, s: int, weak: bool = False, base: int = 0, bits: int = 64, piece: int = 0
) -> Cost:
    """3^h products by the schoolbook, of ceil(n / 2^h) pieces; 11 w + 3 words are added for each
    product of 2 w pieces by three of w.

    base: pieces from which on integers are halved; 0 for m, the most that are one call
    """
    h = halvings(n, s, base)
    least = parts(n, h)
    adds = sum(3**i * (11 * least * 2 ** (h - 1 - i) + 3) for i in range(h))
    return schoolbook(least, s, weak, bits, piece) * 3**h + Cost(cpu_adds=adds)


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
    """Tells whether a signed word of ``bits`` holds a coefficient of the product with its carry. A
    coefficient sums as many products of pieces of ``piece`` bits as the shorter integer has
    pieces."""
    return pieces << (2 * piece) <= 1 << (bits - 1)
