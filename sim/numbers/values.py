"""Patterns of any format as NumPy numbers, and back: what the models of the semirings count with.

float64 holds every value of every float format, and int64 of every integer format.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FLOAT_FORMATS, FloatFormat, Format, IntFormat
from .scalars import convert

__all__ = ["Patterns", "decode", "encode", "is_true", "order", "unorder"]

Patterns = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_FP64 = FLOAT_FORMATS["fp64"]
_NUMPY = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}
_TABLE_BITS = 16
"""Values of formats up to this width are looked up."""

_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def decode(patterns: npt.ArrayLike, fmt: Format) -> npt.NDArray[Any]:
    """Numbers of patterns of ``fmt.bits`` bits: float64, or int64 for an integer format."""
    words = np.asarray(patterns).astype(np.uint64)
    if isinstance(fmt, IntFormat):
        spare = np.uint64(64 - fmt.bits)
        return (words << spare).view(np.int64) >> spare.astype(np.int64)
    if fmt.bits <= _TABLE_BITS:
        return _values(fmt)[words]
    if fmt.name == "fp32":
        # Signalling NaNs raise a flag here, which means nothing.
        with np.errstate(invalid="ignore"):
            return words.astype(np.uint32).view(np.float32).astype(np.float64)
    return (words if fmt.name == "fp64" else convert(words, fmt, _FP64)).view(np.float64)


def encode(numbers: npt.ArrayLike, fmt: Format) -> Patterns:
    """Patterns of float64 numbers, rounded once to nearest, ties to even; NaN becomes the canonical
    one. Patterns of int64 numbers, modulo ``2**fmt.bits``."""
    if isinstance(fmt, IntFormat):
        return _low_bits(np.asarray(numbers).astype(np.int64).view(np.uint64), fmt)
    values = np.ascontiguousarray(numbers, np.float64).reshape(np.shape(numbers))
    if fmt.name not in _NUMPY:
        return convert(values.view(np.uint64), _FP64, fmt)
    with np.errstate(all="ignore"):
        words = values.astype(_NUMPY[fmt.name]).view(f"u{fmt.container_bits // 8}")
    return np.where(np.isnan(values), np.uint64(fmt.nan), words.astype(np.uint64))


def order(patterns: npt.ArrayLike, fmt: Format, *, nan_lowest: bool) -> Ints:
    """Integers in the order of the values, -0 right below +0, NaN at the end asked for."""
    if isinstance(fmt, IntFormat):
        return decode(patterns, fmt)
    words = np.asarray(patterns).astype(np.uint64)
    size = (words & np.uint64((1 << (fmt.bits - 1)) - 1)).view(np.int64)
    negative = (words >> np.uint64(fmt.bits - 1)) != 0
    nan = size > fmt.infinity if fmt.has_infinity else size == fmt.nan
    return np.where(nan, _LOWEST if nan_lowest else _HIGHEST, np.where(negative, ~size, size))


def unorder(positions: Ints, fmt: Format, *, nan_lowest: bool) -> Patterns:
    """Patterns of the integers that ``order`` gives; NaN becomes the canonical one."""
    if isinstance(fmt, IntFormat):
        return encode(positions, fmt)
    sign = np.uint64(1 << (fmt.bits - 1))
    words = np.where(positions < 0, (~positions).view(np.uint64) | sign, positions.view(np.uint64))
    nan = positions == (_LOWEST if nan_lowest else _HIGHEST)
    return np.where(nan, np.uint64(fmt.nan), words)


def is_true(patterns: npt.ArrayLike, fmt: Format) -> npt.NDArray[np.bool_]:
    """Returns whether values are nonzero, of either sign; NaN is true."""
    bits = fmt.bits - isinstance(fmt, FloatFormat)
    return (np.asarray(patterns).astype(np.uint64) & np.uint64((1 << bits) - 1)) != 0


def _low_bits(words: Patterns, fmt: Format) -> Patterns:
    return words & np.uint64((1 << fmt.bits) - 1)


@cache
def _values(fmt: FloatFormat) -> npt.NDArray[np.float64]:
    """The values of all patterns of a narrow format."""
    return convert(np.arange(1 << fmt.bits, dtype=np.uint64), fmt, _FP64).view(np.float64)
