"""Derives costs on a unit of narrow words from those on a unit of an algorithm's own words."""

from __future__ import annotations

from ..cost import Cost
from ..words import Words
from ..words.floats import Floats
from ..words.modular import Residues
from .limbs import limbs_of

__all__ = ["split"]


def split(cost: Cost, s: int, words: Words, weak: bool = False, bits: int = 8) -> Cost:
    """``cost`` in words of L limbs: L times the calls (on a weak unit L^2), L^2 times the rows; to
    cut a word takes a move a limb, to put one together L^2 - 1 sums and 2 (L - 1) shifts."""
    count = limbs_of(words, bits)
    streamed, loaded = cost.rows * s, cost.calls * s * s
    reduced, scaled = isinstance(words, Residues), isinstance(words, Floats)
    return cost + Cost(
        calls=cost.calls * (count * (count if weak else 1) - 1),
        rows=cost.rows * (count * count - 1),
        cpu_adds=(count * count - 1) * streamed + scaled * (streamed + loaded),
        cpu_multiplies=(2 * (count - 1) + reduced) * streamed + scaled * (2 * streamed + loaded),
        cpu_moves=count * (streamed + loaded) * (count > 1),
    )
