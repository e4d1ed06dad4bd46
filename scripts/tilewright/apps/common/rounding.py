"""Numbers rounded to a format, once, to nearest even, and what that destroyed, said on stderr."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...sim.numbers.values import decode, encode

__all__ = ["Rounded", "check_integers", "largest", "round_to", "say", "warn_rounding",
           "warn_special"]  # fmt: skip

Words = NDArray[np.uint64]
_EXACT = 2.0**53
"""Up to here float64 has every integer."""


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
    integers: those of them that are integers, as float64 tells them apart, and did not overflow
    """

    words: Words
    values: NDArray[Any]
    overflows: int
    vanished: int
    inexact: int
    integers: int


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
    integers = changed & ~over & (np.abs(exact) <= _EXACT) & (exact == np.rint(exact))
    counts = (int(np.count_nonzero(x)) for x in (over, vanished, changed, integers))
    return Rounded(words, rounded, *counts)


def warn_rounding(what: object, rounded: Rounded, fmt: Format) -> None:
    """Say on stderr what rounding to the format destroyed, if anything, and what is not finite.

    Raises UserError as :func:`check_integers`.
    """
    check_integers(what, rounded, fmt)
    if isinstance(fmt, FloatFormat):
        _warn_float(what, rounded, fmt, rounded.values.size)


def check_integers(what: object, rounded: Rounded, fmt: Format) -> None:
    """Raise UserError for numbers that have no place in an integer format: those outside of its
    range and fractions."""
    if not isinstance(fmt, IntFormat):
        return
    count = rounded.values.size
    if rounded.overflows:
        raise UserError(f"{what}: {rounded.overflows} of {count} values are not in "
                        f"{fmt.lowest}..{fmt.highest}, the range of {fmt.name}")  # fmt: skip
    if rounded.inexact:
        raise UserError(f"{what}: {rounded.inexact} of {count} values are not integers, which "
                        f"{fmt.name} needs")  # fmt: skip


def _warn_float(what: object, rounded: Rounded, fmt: FloatFormat, count: int) -> None:
    if rounded.overflows:
        become = "infinite" if fmt.has_infinity else "NaN"
        say(f"{what}: {rounded.overflows} of {count} values exceed the largest {fmt.name} value "
            f"{largest(fmt):.6g} and become {become}")  # fmt: skip
    if rounded.vanished:
        say(f"{what}: {rounded.vanished} of {count} values are too small for {fmt.name} and "
            f"become zero")  # fmt: skip
    if rounded.integers:
        say(f"{what}: {rounded.integers} of {count} values are integers that {fmt.name} does not "
            f"hold and become others")  # fmt: skip
    warn_special(what, rounded.values, besides=rounded.overflows)


def warn_special(what: object, values: NDArray[Any], *, besides: int = 0) -> None:
    """Say on stderr how many numbers are infinite or NaN, if any, ``besides`` those that were
    mentioned."""
    special = int(np.count_nonzero(~np.isfinite(values))) - besides
    if special > 0:
        say(f"{what}: {special} of {values.size} values are infinite or NaN")


def say(text: str) -> None:
    """A warning, one line on stderr."""
    print(f"warning: {text}", file=sys.stderr)
