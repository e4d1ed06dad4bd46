"""Real and complex numbers as a unit's operands: bit patterns, rounded once, to nearest even."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....hw.spec.formats import FLOAT_FORMATS, FORMATS, Format
from ....hw.spec.matrix_unit import MatrixUnitConfig
from ....sim.numbers.values import decode
from ..rounding import Rounded, round_to

__all__ = ["Numbers", "narrowest_format", "numbers_of"]

Words = NDArray[np.uint64]
_HALF = np.uint64(32)
_FLOATS = ("fp16", "bf16", "fp32", "fp64")
_INTEGERS = ("int16", "int32")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of one of a unit's operations.

    Parameters
    ----------
    element: format of a and b
    result: format of c and d
    pairs: whether they are complex: two numbers in a word, the real part in the low half
    """

    element: Format
    result: Format
    pairs: bool = False

    def operands(self, values: NDArray[Any]) -> Rounded:
        """Elements of a or b; complex values only if the operation's numbers are."""
        return self._rounded(values, self.element)

    def accumulators(self, values: NDArray[Any]) -> Rounded:
        """The addend c."""
        return self._rounded(values, self.result)

    def results(self, words: Words) -> NDArray[Any]:
        """Decodes words of c or d: float64, float32 if that holds every number of the format, or
        complex64; int64 for integers."""
        if self.pairs:
            return np.ascontiguousarray(words).view(np.complex64)
        values = decode(words, self.result)
        narrow = FLOAT_FORMATS["fp32"].contains(self.result)
        return values.astype(np.float32) if narrow else values

    def _rounded(self, values: NDArray[Any], fmt: Format) -> Rounded:
        if not self.pairs:
            return round_to(values, fmt)
        real, imaginary = round_to(np.real(values), fmt), round_to(np.imag(values), fmt)
        joined = np.empty(real.values.shape, np.complex128)
        joined.real, joined.imag = real.values, imaginary.values
        return Rounded(
            real.words | imaginary.words << _HALF,
            joined,
            real.overflows + imaginary.overflows,
            real.vanished + imaginary.vanished,
            real.inexact + imaginary.inexact,
            real.integers + imaginary.integers,
        )


def narrowest_format(holds: Callable[[Format], bool], *, integers: bool = False) -> str:
    """The first format of the semiring unit that passes a test, integers before floats if they are
    wanted; the widest if none does."""
    names = (*(_INTEGERS if integers else ()), *_FLOATS)
    return next((name for name in names if holds(FORMATS[name])), _FLOATS[-1])


def numbers_of(config: MatrixUnitConfig, operation: str) -> Numbers:
    """The numbers that an operation of a unit takes and gives."""
    found = config.operations[operation]
    return Numbers(element=found.element, result=found.result, pairs=found.complex)
