"""All that products of dense matrices cost, work of the CPU included (Theorems 1 and 2)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import Cost
from . import dense
from .dense import levels

__all__ = ["in_squares", "rectangular", "recursive", "standard", "strassen", "tall"]


def tall(n: int, s: int, weak: bool = False) -> Cost:
    """Matrices of side ``n``: ``(q - 1) n^2`` words are added where s divides n, q = n / s."""
    return rectangular(n, n, n, s, weak)


def rectangular(n: int, k: int, p: int, s: int, weak: bool = False) -> Cost:
    """Matrices (n, k) and (k, p): sums over k, and copies of what is padded."""
    work = dense.rectangular(n, k, p, s, weak)
    if dense.transposes(n, k, p, s, weak):
        n, p = p, n
    high, depth, width = multiple(n, s) if weak else max(n, s), multiple(k, s), multiple(p, s)
    moves = high * depth * ((high, depth) != (n, k)) + depth * width * ((depth, width) != (k, p))
    adds = (depth // s - 1) * high * width
    return Cost(work.calls, work.rows, cpu_adds=adds, cpu_moves=moves)


def recursive(n: int, s: int, products: int, additions: int, side: int = 2) -> Cost:
    """Matrices of side ``n`` by a Strassen-like algorithm of so many products and additions of
    blocks a level, none of which is a negation or a copy."""
    work = dense.recursive(n, s, products, side)
    h = levels(n, s, side)
    wide = s * side**h
    adds = sum(additions * products**i * (wide // side ** (i + 1)) ** 2 for i in range(h))
    return Cost(work.calls, work.rows, cpu_adds=adds, cpu_moves=2 * wide * wide * (wide != n))


def in_squares(
    n: int, k: int, p: int, s: int, products: int, additions: int, side: int = 2
) -> Cost:
    """Matrices (n, k) and (k, p) in squares: each as `recursive`, sums along k, copies of what is
    padded."""
    cut = dense.squares(n, k, p, s, side)
    one = recursive(cut.side, s, products, additions, side)
    high, depth, width = (cut.side * count for count in (cut.down, cut.deep, cut.across))
    moves = high * depth * ((high, depth) != (n, k)) + depth * width * ((depth, width) != (k, p))
    return Cost(
        one.calls * cut.products,
        one.rows * cut.products,
        cpu_adds=one.cpu_adds * cut.products + (cut.deep - 1) * high * width,
        cpu_moves=moves,
    )


def standard(n: int, s: int, weak: bool = False) -> Cost:
    """The standard recursion: ``(2^h - 1) n^2`` words are added where n is ``s 2^h``."""
    return recursive(n, s, 8, 4)


def strassen(n: int, s: int, weak: bool = False) -> Cost:
    """Strassen's in Winograd's form: ``5 s^2 (7^h - 4^h)`` words are added where n is ``s 2^h``."""
    return recursive(n, s, 7, 15)
