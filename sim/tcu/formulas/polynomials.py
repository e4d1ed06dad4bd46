"""Calls and rows of a polynomial at many points (Theorem 11)."""

from __future__ import annotations

from ..cost import UnitWork
from .streaming import stream

__all__ = ["polyval"]


def polyval(d: int, p: int, s: int, weak: bool = False) -> UnitWork:
    """``d`` coefficients, ``p`` points: ceil(d / m) calls of p rows."""
    return stream(p, s, weak) * -(-d // (s * s))
