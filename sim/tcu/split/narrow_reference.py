"""The reference of a unit of narrow words: it refuses operands that are no limbs."""

from __future__ import annotations

import numpy as np

from ..tensor_unit import NumpyBackend
from ..words import Array, Words

__all__ = ["NarrowBackend"]


class NarrowBackend(NumpyBackend):
    """Products of integers of ``bits`` bits, signed or not, in sums of more.

    Parameters
    ----------
    side: s, from 1
    bits: of an operand, from 1

    Raises what a `NumpyBackend` raises, and ValueError for operands that are wider.
    """

    name = "narrow"

    def __init__(self, side: int, bits: int = 8) -> None:
        super().__init__(side)
        self.bits = bits

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        for name, operand in (("a", a), ("b", b)):
            least, most = int(np.min(operand)), int(np.max(operand))
            if least < -(1 << (self.bits - 1)) or most >= 1 << self.bits:
                raise ValueError(
                    f"`{name}` must hold words of {self.bits} bits, not {least} to {most}"
                )
        return super().multiply(a, b, words)
