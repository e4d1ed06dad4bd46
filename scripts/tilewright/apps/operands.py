"""Real and complex numbers as the unit's operands: bit patterns, rounded once, to nearest even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hw.spec.formats import FLOAT_FORMATS, FloatFormat
from ..hw.spec.m3xu import MODES

__all__ = ["Rounded", "accumulators", "left_padding", "neutral_addend", "operands", "results"]

Words = NDArray[np.uint64]
_FP32 = FLOAT_FORMATS["fp32"]


@dataclass(frozen=True)
class Rounded:
    """Numbers in a format.

    Parameters
    ----------
    words: container words (fp32c: real part in the low half)
    values: what they stand for, float64 or complex128
    overflows: finite inputs that became infinite
    vanished: inputs other than zero that became zero
    """

    words: Words
    values: NDArray[Any]
    overflows: int
    vanished: int


def round_values(values: NDArray[Any], fmt: FloatFormat) -> NDArray[np.float64]:
    """float64 values rounded to a format, in one step, subnormals and overflow included."""
    exact = np.asarray(values, np.float64)
    exponent = np.maximum(np.frexp(exact)[1] - 1, fmt.emin) - fmt.fraction_bits
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(exact, -exponent)), exponent)
    largest = np.ldexp(2.0 - 2.0**-fmt.fraction_bits, fmt.emax)
    over = np.abs(rounded) > largest
    return np.where(over, np.copysign(np.inf, rounded), rounded)


def _container(values: NDArray[np.float64], fmt: FloatFormat) -> Words:
    """Container words of values that the format holds."""
    if fmt.name == "fp16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    words = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    nan = np.uint64(_FP32.nan)
    words = np.where(np.isnan(values), nan, words)
    return words >> np.uint64(32 - fmt.container_bits)


def _rounded(values: NDArray[Any], fmt: FloatFormat) -> Rounded:
    rounded = round_values(values, fmt)
    overflows = int(np.count_nonzero(np.isinf(rounded) & np.isfinite(values)))
    vanished = int(np.count_nonzero((rounded == 0) & (np.asarray(values) != 0)))
    return Rounded(_container(rounded, fmt), rounded, overflows, vanished)


def operands(values: NDArray[Any], mode: str) -> Rounded:
    """Operands of a mode; complex values in fp32c mode only."""
    fmt = MODES[mode].element
    if MODES[mode].results == 1:
        return _rounded(values, fmt)
    real, imaginary = _rounded(np.real(values), fmt), _rounded(np.imag(values), fmt)
    joined = np.empty(real.values.shape, np.complex128)
    joined.real, joined.imag = real.values, imaginary.values
    return Rounded(
        real.words | imaginary.words << np.uint64(32),
        joined,
        real.overflows + imaginary.overflows,
        real.vanished + imaginary.vanished,
    )


def accumulators(values: NDArray[Any], mode: str) -> Rounded:
    """The addend c: fp32, or a pair of them in fp32c mode."""
    return operands(values, "fp32c" if MODES[mode].results == 2 else "fp32")


def results(words: Words, mode: str) -> NDArray[Any]:
    """Results as float32, or complex64 in fp32c mode."""
    if MODES[mode].results == 2:
        return np.ascontiguousarray(words).view(np.complex64)
    return words.astype(np.uint32).view(np.float32)


def neutral_addend(mode: str) -> int:
    """The addend that changes no sum: -0, twice in fp32c mode (+0 would turn a -0 into +0)."""
    sign = 1 << 31
    return sign | sign << 32 if MODES[mode].results == 2 else sign


def left_padding(mode: str) -> int:
    """What pads the depth of a; b is padded with +0.

    The products are then -0, the neutral element of the sum, so that padding changes no bit of
    any result. In fp32c mode no pair of zeros makes all four real products neutral: with
    (-0, +0) here, the real part's are, and one of the imaginary part's is +0; an imaginary part
    whose every other term is -0 comes out as +0.
    """
    return 1 << (MODES[mode].element.container_bits - 1)
