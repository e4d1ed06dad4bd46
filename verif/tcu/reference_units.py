"""Tensor units of NumPy's products, on which algorithms are tested."""

from __future__ import annotations

from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.words import INT64, Words

SIDES = (4, 8, 16)


def unit_of(s: int, words: Words = INT64, weak: bool = False) -> TensorUnit:
    """Blocks of s x s; a call waits for nothing."""
    return TensorUnit(NumpyBackend(s), words, weak=weak)
