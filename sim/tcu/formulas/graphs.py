"""Calls and rows of algorithms on graphs (Theorems 5 and 6)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import UnitWork
from .dense import tall
from .streaming import stream

__all__ = ["closure", "distances", "halvings", "squaring"]


def closure(n: int, s: int, weak: bool = False) -> UnitWork:
    """``n`` vertices: b (b - 1) calls of n - s rows, b = ceil(n / s)."""
    wide = multiple(n, s)
    b = wide // s
    return stream(wide - s, s, weak) * (b * (b - 1)) if b > 1 else UnitWork()


def halvings(diameter: int) -> int:
    """Squares of a connected graph until all vertices are neighbours: ceil(log2 diameter)."""
    return max(0, diameter - 1).bit_length()


def distances(n: int, diameter: int, s: int, weak: bool = False) -> UnitWork:
    """A connected graph of ``n`` vertices: two products a level. Components add up."""
    return squaring(n, diameter, s, weak) * 2


def squaring(n: int, diameter: int, s: int, weak: bool = False) -> UnitWork:
    """The same by squares of lengths, of words that have minimum and sum: a product a level."""
    return tall(n, s, weak) * halvings(diameter)
