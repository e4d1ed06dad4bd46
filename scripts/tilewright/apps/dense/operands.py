"""Real and complex numbers as a unit's operands: bit patterns, rounded once, to nearest even."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FLOAT_FORMATS, FORMATS, FloatFormat, Format, IntFormat
from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...sim.numbers.values import decode, encode

__all__ = [
    "Numbers",
    "Rounded",
    "largest",
    "narrowest_format",
    "numbers_of",
    "round_to",
    "say",
    "warn_rounding",
]

Words = NDArray[np.uint64]
_HALF = np.uint64(32)
_FLOATS = ("fp16", "bf16", "fp32", "fp64")
_INTEGERS = ("int16", "int32")


@dataclass(frozen=True)
class Rounded:
    """Numbers in a format.

    Parameters
    ----------
    words: container words (complex: real part in the low half)
    values: what they stand for, float64 or complex128
    overflows: inputs that the format does not reach; they became infinite or NaN, in an integer
        format its ends
    vanished: inputs other than zero that became zero
    inexact: inputs that became another number
    """

    words: Words
    values: NDArray[Any]
    overflows: int
    vanished: int
    inexact: int


def largest(fmt: Format) -> float:
    """The largest finite value."""
    if isinstance(fmt, IntFormat):
        return float(fmt.highest)
    return float(decode(np.uint64(fmt.largest), fmt))


def round_to(values: NDArray[Any], fmt: Format) -> Rounded:
    """float64 values rounded to a format, in one step, subnormals and overflow included."""
    exact = np.asarray(values, np.float64)
    if isinstance(fmt, IntFormat):
        inside = np.clip(np.nan_to_num(np.rint(exact)), fmt.lowest, fmt.highest)
        over = ~np.isfinite(exact) | (np.abs(inside - exact) > 0.5)
        words = encode(inside.astype(np.int64), fmt)
        rounded = inside
    else:
        words = encode(exact, fmt)
        rounded = decode(words, fmt)
        words = words << np.uint64(fmt.padding_bits)
        over = np.isfinite(exact) & ~np.isfinite(rounded)
    changed = (rounded != exact) & ~np.isnan(exact)
    vanished = (rounded == 0) & (exact != 0)
    counts = (int(np.count_nonzero(x)) for x in (over, vanished, changed))
    return Rounded(words, rounded, *counts)


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
        """What words of c or d stand for: float64, float32 if that holds every number of the
        format, or complex64; int64 of integers."""
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


def warn_rounding(what: object, rounded: Rounded, fmt: Format) -> None:
    """Say on stderr what rounding to the format destroyed, if anything.

    Raises UserError for numbers outside an integer format: they have no place in it.
    """
    count = rounded.values.size
    if isinstance(fmt, IntFormat):
        if rounded.overflows:
            raise UserError(f"{what}: {rounded.overflows} of {count} values are not in "
                            f"{fmt.lowest}..{fmt.highest}, the range of {fmt.name}")  # fmt: skip
        if rounded.inexact:
            say(f"{what}: {rounded.inexact} of {count} values are not integers and were rounded")
        return
    _warn_float(what, rounded, fmt, count)


def _warn_float(what: object, rounded: Rounded, fmt: FloatFormat, count: int) -> None:
    if rounded.overflows:
        become = "infinite" if fmt.has_infinity else "NaN"
        say(f"{what}: {rounded.overflows} of {count} values exceed the largest {fmt.name} value "
            f"{largest(fmt):.6g} and become {become}")  # fmt: skip
    if rounded.vanished:
        say(f"{what}: {rounded.vanished} of {count} values are too small for {fmt.name} and "
            f"become zero")  # fmt: skip
    special = int(np.count_nonzero(~np.isfinite(rounded.values))) - rounded.overflows
    if special > 0:
        say(f"{what}: {special} of {count} values are infinite or NaN")


def say(text: str) -> None:
    """A warning, one line on stderr."""
    print(f"warning: {text}", file=sys.stderr)
