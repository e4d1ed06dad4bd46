"""All that products of long integers cost, work of the CPU included (Theorems 9 and 10)."""

from __future__ import annotations

from ..cost import Cost
from . import integers
from .integers import halvings, parts, piece_bits, sums_fit

__all__ = ["karatsuba", "product", "schoolbook"]


def schoolbook(n: int, s: int, weak: bool = False, bits: int = 64, piece: int = 0) -> Cost:
    """Two integers of ``n`` pieces: about 3 n^2 / s + 11 n words, n^2 / s + 9 n if sums fit."""
    return product(n, n, s, weak, bits, piece)


def product(
    p: int, q: int, s: int, weak: bool = False, bits: int = 64, piece: int = 0
) -> Cost:  # fmt: skip
    """Integers of ``p`` and of ``q`` pieces, p >= q: every element of C' is added where it belongs,
    cut in two before where a word does not hold the sums; then carries.

    bits: of a word
    piece: bits of a piece; 0 for the most
    """
    work = integers.product(p, q, s, weak)
    columns, rows = -(-q // s), p + s - 1
    # The last column has elements beyond the lowest coefficient.
    elements = (columns - 1) * rows + p - 1 + q - (columns - 1) * s
    cut = not sums_fit(q, piece or piece_bits(s, bits), bits)
    blocks = -(-q // (s * s))
    high = work.rows // blocks
    return Cost(
        work.calls,
        work.rows,
        cpu_adds=elements * (1 + cut) + p + q,
        cpu_multiplies=elements * cut + p + q,
        cpu_moves=high + s - 1 + blocks * s * s + p + q,
    )


def karatsuba(
    n: int, s: int, weak: bool = False, base: int = 0, bits: int = 64, piece: int = 0
) -> Cost:
    """11 w + 3 words are added for each product of 2 w pieces by three of w."""
    h = halvings(n, s, base)
    least = parts(n, h)
    one = schoolbook(least, s, weak, bits, piece)
    adds = sum(3**i * (11 * least * 2 ** (h - 1 - i) + 3) for i in range(h))
    whole = Cost(**{name: count * 3**h for name, count in vars(one).items()})
    return whole + Cost(cpu_adds=adds)
