"""Counts the costs of products of a 2:4 sparse operand."""

from __future__ import annotations

from ..cost import Cost
from ..tensor_unit import multiple

__all__ = ["metadata_words", "structured"]


def structured(n: int, k: int, p: int, s: int, transposed: bool = False) -> Cost:
    """Matrices (n, k), which is sparse, and (k, p); if ``transposed``, the other one is."""
    depth = multiple(k, 2 * s)
    moves = (n * depth + depth * p) * (depth != k)
    if transposed:
        n, p = p, n
    high, width = max(n, s), multiple(p, s)
    moves += high * depth * (high != n) + depth * width * (width != p) + high * depth // 2
    halves = depth // (2 * s)
    calls = halves * (width // s)
    return Cost(
        calls,
        calls * high,
        cpu_adds=high * depth + (halves - 1) * high * width,
        cpu_moves=moves,
    )


def metadata_words(rows: int, s: int, bits: int) -> float:
    """Words of the metadata of so many rows of s words of ``bits`` bits: two bits per place."""
    return rows * s * 2 / bits
