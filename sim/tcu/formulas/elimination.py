"""Calls and rows of Gaussian elimination (Theorem 4)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import UnitWork
from .streaming import stream

__all__ = ["eliminate"]


def eliminate(n: int, s: int, weak: bool = False) -> UnitWork:
    """A matrix of side ``n``: q (q - 1) / 2 calls, q = ceil(n / s); in step k, q - k calls of
    (q - k) s rows: ``m q (q - 1) (2 q - 1) / 6`` words are streamed."""
    found = UnitWork()
    for left in range(1, multiple(n, s) // s):
        found += stream(left * s, s, weak) * left
    return found
