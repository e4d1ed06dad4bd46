"""Integers in limbs: the lowest first, from 0; the top one has the sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..words import Array, Words
from ..words.exact_products import largest
from ..words.floats import Floats
from ..words.integers import Integers
from ..words.modular import Residues

__all__ = ["can_split", "cut", "joined", "limbs_of"]


def can_split(words: Words) -> bool:
    """Tells whether words are composed of integers: integers, residues, and real floats by their
    significands. Sums of cut words are sums of their parts; minima are not."""
    real = isinstance(words, Floats) and words.dtype.kind == "f"
    return real or isinstance(words, Integers | Residues)


def limbs_of(words: Words, bits: int = 8) -> int:
    """L: limbs of ``bits`` bits of a word. Raises ValueError for words that cannot be split."""
    if isinstance(words, Integers):
        return -(-words.bits // bits)
    if isinstance(words, Residues):
        return max(1, -(-(words.modulus - 1).bit_length() // bits))
    if can_split(words):
        assert isinstance(words, Floats)
        return -(-(int(1 / words.roundoff).bit_length() - 1) // bits)
    raise ValueError(
        f"words that are split must be integers, residues or real floats, not {words.name}"
    )


def cut(x: Array, count: int, bits: int) -> list[Array]:
    """``count`` limbs of each integer, from int64."""
    lower = [x >> (bits * i) & ((1 << bits) - 1) for i in range(count - 1)]
    return [*lower, x >> (bits * (count - 1))]


def joined(sums: Sequence[Array], bits: int) -> Array:
    """``sum(x << (i * bits))``: int64, or Python's integers (dtype object) if it might not fit."""
    wide = sum(largest(x) << (bits * i) for i, x in enumerate(sums)) >> 63
    parts = [x.astype(object) if wide else x for x in sums]
    return np.asarray(sum(x * (1 << (bits * i)) if wide else x << (bits * i)
                          for i, x in enumerate(parts)))  # fmt: skip
