"""Costs of a polynomial at many points (Theorem 11)."""

from __future__ import annotations

from ..cost import Cost
from .streaming import stream

__all__ = ["polyval"]


def polyval(d: int, p: int, s: int, weak: bool = False) -> Cost:
    """``d`` coefficients, ``p`` points: ceil(d / m) calls of p rows; p s + 3 p d / s words or so,
    for powers and sums."""
    one, blocks = stream(p, s, weak), -(-d // (s * s))
    columns, wide = -(-d // s), blocks * s * s
    powers = max(min(s, d) - 2, 0)
    # The power s is a product, but for s = 1; the others of its multiples are.
    multiples = max(columns - 1 - (s == 1), 0)
    return Cost(
        one.calls * blocks,
        one.rows * blocks,
        cpu_adds=(columns - 1) * p,
        cpu_multiplies=(powers + multiples + columns - 1) * p,
        cpu_moves=one.rows * s - powers * p + wide * (wide != d),
    )
