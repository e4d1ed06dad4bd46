"""Costs of Gaussian elimination (Theorem 4)."""

from __future__ import annotations

from ..cost import Cost, UnitWork
from ..tensor_unit import multiple
from .streaming import stream

__all__ = ["eliminate", "solve"]


def eliminate(n: int, s: int, weak: bool = False, exact: bool = False) -> Cost:
    """A matrix of side ``n``, of floats or of ``exact`` words, whose magnitudes are not looked at.

    q (q - 1) / 2 calls, q = ceil(n / s); in step k, q - k calls of (q - k) s rows:
    ``m q (q - 1) (2 q - 1) / 6`` words are streamed.
    """
    wide, work = multiple(n, s), UnitWork()
    for left in range(1, wide // s):
        work += stream(left * s, s, weak) * left
    pairs, cube = s * (s - 1) // 2, (s - 1) * s * (2 * s - 1) // 6
    strip = wide * (wide // s - 1) // 2  # rows, or columns, beside all blocks on the diagonal
    products = wide // s * cube + 2 * strip * pairs
    return Cost(
        work.calls,
        work.rows,
        cpu_adds=products + work.rows * s + wide + (0 if exact else n * n),
        cpu_multiplies=products + wide // s * pairs + strip * s,
        cpu_moves=wide * wide,
    )


def solve(n: int, columns: int = 1) -> Cost:
    """Both triangular systems of side ``n``, by the CPU."""
    products = n * (n - 1) * columns
    return Cost(
        cpu_adds=products, cpu_multiplies=products + n * columns, cpu_moves=n * columns
    )  # fmt: skip
