"""Matrices with at most two words other than zero in each four of a row."""

from __future__ import annotations

import numpy as np
from tilewright.sim.tcu.words import Array

__all__ = ["drawn"]


def drawn(seed: int, n: int, k: int, zero: float = 0) -> Array:
    """Words from 1 to 99, (n, k); ``zero`` elsewhere."""
    rng = np.random.default_rng(seed)
    wide = rng.integers(1, 100, (n, -(-k // 4), 4)).astype(float)
    order = rng.random(wide.shape).argsort(axis=2)
    found = np.where(order < rng.integers(0, 3, (*wide.shape[:2], 1)), wide, zero)
    found = found.reshape(n, -1)[:, :k]
    return found if np.isinf(zero) else found.astype(int)
