"""Products of wide words as products of their limbs on a unit of narrow ones."""

from __future__ import annotations

import numpy as np

from ..streaming import stream
from ..tensor_unit import TensorUnit
from ..words import Array, Words
from ..words.floats import Floats
from ..words.modular import Residues
from .limbs import can_split, cut, joined, limbs_of
from .significands import as_integers, from_integers

__all__ = ["SplitBackend"]


class SplitBackend:
    """What multiplies for a `SplitUnit`; it charges all it does to the narrow unit.

    Parameters
    ----------
    narrow: a unit whose words hold sums of products of limbs
    bits: of a limb
    """

    held: tuple[str, ...] = ("integers", "residues", "real floats")

    def __init__(self, narrow: TensorUnit, bits: int) -> None:
        self.narrow, self.bits = narrow, bits

    @property
    def name(self) -> str:
        return f"{self.narrow.backend.name} in limbs of {self.bits} bits"

    @property
    def side(self) -> int:
        return self.narrow.s

    @property
    def cycles(self) -> int | None:
        return self.narrow.backend.cycles

    def holds(self, words: Words) -> bool:
        return can_split(words)

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        count, narrow = limbs_of(words, self.bits), self.narrow
        if isinstance(words, Floats):
            left, of_rows = as_integers(a, self.bits * count, axis=1)
            right, of_columns = as_integers(b, self.bits * count, axis=0)
            # The largest are looked for, numbers are scaled, and so are results.
            narrow.cpu(adds=a.size + b.size, multiplies=2 * a.size + b.size)
            return from_integers(self._exact(left, right, count), of_rows + of_columns, words)
        if isinstance(words, Residues):
            narrow.cpu(multiplies=a.size)
        return words.array(self._exact(a, b, count))

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        self.narrow.cpu(adds=a.size)
        return words.add(self.multiply(a, b, words), c)

    def _exact(self, a: Array, b: Array, count: int) -> Array:
        """The product of integers. Limbs of A stand below each other, in a call for each limb of B;
        results whose limbs have one sum of places are added, shifted, and added."""
        narrow, n = self.narrow, len(a)
        if count == 1:
            return narrow.multiply(a, b)
        tall = np.concatenate(cut(a, count, self.bits))
        narrow.cpu(moves=count * (a.size + b.size))
        sums = [np.zeros(a.shape, np.int64) for _ in range(2 * count - 1)]
        for j, limb in enumerate(cut(b, count, self.bits)):
            made = stream(narrow, tall, limb)
            for i in range(count):
                sums[i + j] += made[i * n : (i + 1) * n]
        narrow.cpu(adds=(count * count - 1) * a.size, multiplies=2 * (count - 1) * a.size)
        return joined(sums, self.bits)
