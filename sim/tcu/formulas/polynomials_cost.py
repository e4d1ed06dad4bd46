"""All that a polynomial at many points costs, work of the CPU included (Theorem 11)."""

from __future__ import annotations

from ..cost import Cost
from . import polynomials
from .streaming import stream

__all__ = ["polyval"]


def polyval(d: int, p: int, s: int, weak: bool = False) -> Cost:
    """``d`` coefficients, ``p`` points: p s + 3 p d / s words or so, for powers and sums."""
    work = polynomials.polyval(d, p, s, weak)
    columns, wide = -(-d // s), -(-d // (s * s)) * s * s
    powers = max(min(s, d) - 2, 0)
    high = stream(p, s, weak).rows
    # The power s is a product, but for s = 1; the others of its multiples are.
    multiples = max(columns - 1 - (s == 1), 0)
    return Cost(
        work.calls,
        work.rows,
        cpu_adds=(columns - 1) * p,
        cpu_multiplies=(powers + multiples + columns - 1) * p,
        cpu_moves=high * s - powers * p + wide * (wide != d),
    )
