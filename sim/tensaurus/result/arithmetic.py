"""The numbers that sums are made of: NumPy's own where it has the format, else patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FLOAT_FORMATS, FloatFormat, IntFormat
from ....hw.spec.tensaurus import TensaurusConfig
from ...numbers.scalars import Patterns
from ...numbers.semirings import combine, product

__all__ = ["Arithmetic", "Numbers", "arithmetic_of"]

Numbers = npt.NDArray[Any]

_OWN = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


class Arithmetic(ABC):
    """(x) and (+) of a device on arrays of numbers, which broadcast.

    Operands are of the device's format, sums and what is multiplied again of that of sums. A NaN
    may be any until it is stored.
    """

    @abstractmethod
    def load(self, patterns: Patterns) -> Numbers:
        """Numbers of patterns of operands."""

    @abstractmethod
    def store(self, numbers: Numbers) -> Patterns:
        """Patterns of sums."""

    @abstractmethod
    def times(self, a: Numbers, b: Numbers) -> Numbers:
        """``a (x) b``, rounded once."""

    @abstractmethod
    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        """``x (+) y``, rounded once."""


def arithmetic_of(config: TensaurusConfig) -> Arithmetic:
    """Returns the arithmetic of a device."""
    if config.semiring != "mma":
        return _ByPatterns(config)
    return _Bf16() if config.value == "bf16" else _Own(config)


class _Own(Arithmetic):
    """Sums of products of a format that NumPy counts in: its operations round as IEEE 754 says (of
    fp16 by way of fp32, which holds the products and has more than twice the places and two)."""

    def __init__(self, config: TensaurusConfig) -> None:
        self._format, self._sum = config.format, config.sum_format

    def load(self, patterns: Patterns) -> Numbers:
        words = patterns.astype(f"u{self._format.bits // 8}")
        if isinstance(self._format, FloatFormat):
            return words.view(_OWN[self._format.name])
        return words.view(f"i{self._format.bits // 8}").astype(np.int32)

    def store(self, numbers: Numbers) -> Patterns:
        words = numbers.view(f"u{self._sum.bits // 8}").astype(np.uint64)
        if isinstance(self._sum, IntFormat):
            return words
        return np.where(np.isnan(numbers), np.uint64(self._sum.nan), words)

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            found: Numbers = a * b
        return found

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            found: Numbers = x + y
        return found


class _Bf16(Arithmetic):
    """Sums of products of bf16 in the upper halves of fp32, whose places are enough to round twice;
    every product that reaches half of the least bf16 is a multiple of the least fp32."""

    def load(self, patterns: Patterns) -> Numbers:
        return (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def store(self, numbers: Numbers) -> Patterns:
        words = (numbers.view(np.uint32) >> np.uint32(16)).astype(np.uint64)
        return np.where(np.isnan(numbers), np.uint64(FLOAT_FORMATS["bf16"].nan), words)

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return self._rounded(a * b)

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return self._rounded(x + y)

    @staticmethod
    def _rounded(numbers: Numbers) -> Numbers:
        """Rounds to nearest, ties to even."""
        words = numbers.view(np.uint32)
        words = words + (np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1)))
        found = (words & np.uint32(0xFFFF_0000)).view(np.float32)
        nan = np.isnan(numbers)
        if nan.any():
            found[nan] = np.nan
        return found


class _ByPatterns(Arithmetic):
    """Any semiring on any format whose sums are of the format itself."""

    def __init__(self, config: TensaurusConfig) -> None:
        self._row, self._format = config.operators, config.format

    def load(self, patterns: Patterns) -> Numbers:
        return patterns.astype(np.uint64)

    def store(self, numbers: Numbers) -> Patterns:
        return numbers

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        return product(self._row, a, b, self._format, self._format)

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        return combine(self._row, x, y, self._format)
