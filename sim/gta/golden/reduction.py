"""Golden model of the reductions of a vector: sum, smallest and largest element.

**Order.** A sum of floats is a chain in ascending order, as in a product of matrices: to the start
the first element is added and the sum rounded to the format, then the second, and so on to the
last. The start is +0 unless given, so that a sum of negative zeros is +0. The other reductions do
not depend on an order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS, FloatFormat, Format
from ....hw.spec.gta import is_float
from ....hw.spec.host.words import not_one_of
from ...numbers.container_words import words_of
from ...numbers.values import Patterns, decode, encode, order, unorder

__all__ = ["REDUCTIONS", "reduce"]

REDUCTIONS = {"sum": "0", "min": "+inf", "max": "-inf"}
"""The start value of each reduction, as ``Format.constant`` names it; infinities are the ends of
the range of integers."""

_NUMPY = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def reduce(
    operation: str, format: str, a: npt.ArrayLike, start: npt.ArrayLike | None = None
) -> Patterns:
    """The sum, the smallest or the largest of the elements along the last axis, and of the start.

    Integers: sums modulo ``2**w``, w the format's own width. Floats: sums are chains, rounded to
    the format itself; min and max are those of IEEE 754-2019: a NaN wins, -0 is below +0. Every NaN
    is the canonical one.

    Parameters
    ----------
    operation: one of ``REDUCTIONS``
    a: patterns of the format, (..., n), n from 0
    start: patterns (...); None: 0 of sums, the largest value of min, the smallest of max

    Raises
    ------
    TypeError for words that are no integers, ValueError for words too wide, an operation or a
    format that there is not, a start of another shape.
    """
    is_float(format)
    fmt = FORMATS[format]
    if operation not in REDUCTIONS:
        raise ValueError(not_one_of("`operation`", REDUCTIONS, operation))
    words = words_of(a, fmt.bits)
    if start is None:
        identity = fmt.constant(REDUCTIONS[operation])
        assert identity is not None
        first = np.full(words.shape[:-1], identity, np.uint64)
    else:
        first = words_of(start, fmt.bits)
    if first.shape != words.shape[:-1]:
        raise ValueError(f"`start` must have shape {words.shape[:-1]}, not {first.shape}")
    terms = np.concatenate([first[..., np.newaxis], words], axis=-1)
    if operation != "sum":
        return _extreme(terms, fmt, largest=operation == "max")
    if not isinstance(fmt, FloatFormat):
        total: Patterns = terms.sum(axis=-1, dtype=np.uint64)
        return total & np.uint64((1 << fmt.bits) - 1)
    with np.errstate(all="ignore"):
        return _bf16_chain(terms, fmt) if format == "bf16" else _chain(terms, fmt)


def _extreme(terms: Patterns, fmt: Format, *, largest: bool) -> Patterns:
    places = order(terms, fmt, nan_lowest=not largest)
    choose = np.maximum if largest else np.minimum
    chosen: npt.NDArray[np.int64] = choose.reduce(places, axis=-1)
    return unorder(chosen, fmt, nan_lowest=not largest)


def _chain(terms: Patterns, fmt: FloatFormat) -> Patterns:
    """``accumulate`` needs every sum on the way, so it adds in order, unlike ``sum``."""
    values: Any = terms.astype(f"u{fmt.bits // 8}").view(_NUMPY[fmt.name])
    return encode(np.add.accumulate(values, axis=-1)[..., -1].astype(np.float64), fmt)


def _bf16_chain(terms: Patterns, fmt: FloatFormat) -> Patterns:
    """Sums in float32, whose 24 bits are more than twice the format's 8, so that rounding them
    again does no harm; the second rounding is of the upper half of the word."""
    values = decode(terms, fmt).astype(np.float32)
    total = values[..., 0]
    for k in range(1, values.shape[-1]):
        word = np.asarray(total + values[..., k]).view(np.uint32)
        # A carry out of the largest value makes an infinity; a NaN's lower half is 0.
        rounded = word + np.uint32(0x7FFF) + ((word >> np.uint32(16)) & np.uint32(1))
        total = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return encode(total.astype(np.float64), fmt)
