"""Complex numbers, on units of complex words and on units of real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..formulas.transform import COMPLEX_WORDS, REALS, NumberCost
from ..tensor_unit import TensorUnit, stream
from ..words import Array
from ..words.floats import Floats

__all__ = ["ComplexNumbers", "unit_roots"]


@dataclass(frozen=True)
class ComplexNumbers:
    """Complex numbers of the precision of ``words``, kept as NumPy keeps them.

    On real words the unit gets their parts: four calls, and two sums by the CPU.
    """

    words: Floats
    order = 0

    @property
    def name(self) -> str:
        return f"complex numbers of {self.words.name}"

    @property
    def _of_reals(self) -> bool:
        return self.words.dtype.kind != "c"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.words.dtype, np.complex64)

    @property
    def cost(self) -> NumberCost:
        return REALS if self._of_reals else COMPLEX_WORDS

    def array(self, x: npt.ArrayLike) -> Array:
        given = np.asarray(x)
        if self._of_reals and given.dtype.kind == "c":
            real, imaginary = self.words.array(given.real), self.words.array(given.imag)
            return np.asarray(real + 1j * imaginary).astype(self.dtype, copy=False)
        return self.words.array(given).astype(self.dtype, copy=False)

    def plain(self, x: Array) -> Array:
        return np.asarray(x.real) if self._of_reals else x

    def packed(self, x: Array) -> Array:
        if not self._of_reals:
            return x
        found = np.zeros((-(-x.shape[0] // 2), *x.shape[1:]), self.dtype)
        found.real = x[0::2]
        found.imag[: x.shape[0] // 2] = x[1::2]
        return found

    def unpacked(self, x: Array, count: int) -> Array:
        if not self._of_reals:
            return x
        return np.stack([x.real, x.imag], axis=1).reshape(-1, *x.shape[1:])[:count]

    def roots(self, n: int, exponents: Array, divisor: int = 1) -> Array:
        return (unit_roots(n, exponents) / divisor).astype(self.dtype)

    def product(self, unit: TensorUnit, a: Array, b: Array) -> Array:
        if not self._of_reals:
            return stream(unit, a, b)
        words = self.words
        found = np.empty(a.shape, self.dtype)
        found.real = words.subtract(stream(unit, a.real, b.real), stream(unit, a.imag, b.imag))
        found.imag = words.add(stream(unit, a.real, b.imag), stream(unit, a.imag, b.real))
        return found

    def multiply(self, x: Array, y: Array) -> Array:
        return np.asarray(x * y)

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y)


def unit_roots(n: int, exponents: Array) -> Array:
    """``exp(-2 pi i exponents / n)`` within 8 * 2**-53 of the true ones.

    Exponents are reduced as integers to an eighth of the circle, so that what is rounded is small.
    """
    turned = 4 * (np.asarray(exponents) % n)
    quarter = (2 * turned + n) // (2 * n)
    angle = math.pi / 2 * ((turned - quarter * n) / n)
    return np.asarray(
        (np.cos(angle) - 1j * np.sin(angle)) * np.array([1, -1j, -1, 1j])[quarter % 4]
    )
