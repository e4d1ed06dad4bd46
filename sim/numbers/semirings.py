"""The operators of the semirings on bit patterns, for any format: what ``hw.spec.semirings`` names.

``product`` is one (x), ``combine`` is one (+). All arrays broadcast. The operators that round do so
once: float64 holds every product of narrower operands, and its sums have more than twice the
places of any narrower format and two more, so that rounding them again does no harm (Figueroa,
"When is double rounding innocuous?").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...hw.spec.semirings import Semiring
from .floats import ZERO_EXPONENT, Unpacked
from .fused import Factor, fused_products
from .values import Patterns, decode, encode, is_true, order, unorder

__all__ = ["combine", "difference", "product"]

Numbers = npt.NDArray[Any]
Product = Callable[[Patterns, Patterns, Format, Format], Patterns]
Sum = Callable[[Patterns, Patterns, Format], Patterns]

_FLOAT64_PLACES = 53
_HUGE = 2.0**1022


def product(
    row: Semiring, a: npt.ArrayLike, b: npt.ArrayLike, element: Format, result: Format
) -> Patterns:
    """``a (x) b``: patterns of ``element`` in, of ``result`` out.

    Integers: sums saturate, other results are taken modulo ``2**result.bits``; if (+) is min or
    max, the product of the two padding values is the identity.

    Raises
    ------
    ValueError if the result's format does not hold every element.
    """
    if not result.contains(element):
        raise ValueError(f"`result` must hold every value of {element.name}, not {result.name}")
    x, y = np.asarray(a).astype(np.uint64), np.asarray(b).astype(np.uint64)
    with np.errstate(all="ignore"):
        found = _TIMES[row.times](x, y, element, result)
    padding, identity = row.padding_in(element), row.identity_in(result)
    if isinstance(element, IntFormat) and row.plus in ("min", "max"):
        assert padding is not None
        assert identity is not None
        padded = (x == np.uint64(padding[0])) & (y == np.uint64(padding[1]))
        found = np.where(padded, np.uint64(identity), found)
    return found


def combine(row: Semiring, x: npt.ArrayLike, y: npt.ArrayLike, fmt: Format) -> Patterns:
    """``x (+) y``, patterns of ``fmt``: a sum is rounded once, or wraps if it is of integers."""
    left, right = np.asarray(x).astype(np.uint64), np.asarray(y).astype(np.uint64)
    with np.errstate(all="ignore"):
        return _PLUS[row.plus](left, right, fmt)


def difference(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Factor:
    """``a - b`` as an operand of products: rounded once to the format's significand width, the
    exponent unbounded."""
    x, y = np.broadcast_arrays(decode(a, fmt), decode(b, fmt))
    with np.errstate(all="ignore"):
        huge = np.maximum(np.abs(x), np.abs(y)) >= _HUGE
        # A quarter, where float64 could overflow; what underflows then is of no weight beside it.
        scale = np.where(huge, 0.25, 1.0)
        value = x * scale - y * scale
        finite = np.isfinite(value)
        fraction, exponent = np.frexp(np.where(finite, value, 0.0))
    whole = (np.abs(fraction) * 2.0**_FLOAT64_PLACES).astype(np.int64)
    drop = _FLOAT64_PLACES - fmt.significand_bits
    if drop:
        whole = (whole + (1 << (drop - 1)) - 1 + ((whole >> drop) & 1)) >> drop
    carry = whole >> fmt.significand_bits
    significand = whole >> carry
    zero = finite & (value == 0)
    weight = exponent.astype(np.int64) - 1 + carry + 2 * huge
    fields = Unpacked(
        negative=np.signbit(value),
        exponent=np.where(zero, ZERO_EXPONENT, weight),
        significand=significand,
        zero=zero,
        infinite=np.isinf(value),
        nan=np.isnan(value),
    )
    signed = np.where(fields.negative, -significand, significand)
    return Factor(signed, fields.exponent, fields, bool(finite.all()))


def _times_add(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    x, y = decode(a, element), decode(b, element)
    if isinstance(result, IntFormat):
        total = x + y
        # Two signs alike and the sum's another: it went round the end of 64 bits.
        total = np.where(
            (x < 0) & (y < 0) & (total >= 0), result.lowest,
            np.where((x >= 0) & (y >= 0) & (total < 0), result.highest, total),
        )  # fmt: skip
        return encode(np.clip(total, result.lowest, result.highest), result)
    return encode(x + y, result)


def _times_mul(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    return encode(decode(a, element) * decode(b, element), result)


def _extreme(largest: bool) -> Callable[[Patterns, Patterns, Format], Patterns]:
    """IEEE 754-2019 ``minimum`` or ``maximum``, of patterns of one format."""
    choose = np.maximum if largest else np.minimum

    def extreme(x: Patterns, y: Patterns, fmt: Format) -> Patterns:
        end = not largest
        chosen: npt.NDArray[np.int64] = choose(
            order(x, fmt, nan_lowest=end), order(y, fmt, nan_lowest=end)
        )
        return unorder(chosen, fmt, nan_lowest=end)

    return extreme


_minimum, _maximum = _extreme(largest=False), _extreme(largest=True)


def _times_min(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    return encode(decode(_minimum(a, b, element), element), result)


def _times_max(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    return encode(decode(_maximum(a, b, element), element), result)


def _truth(flags: npt.NDArray[np.bool_], fmt: Format) -> Patterns:
    one = fmt.constant("1")
    assert one is not None
    return np.where(flags, np.uint64(one), np.uint64(0))


def _times_and(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    return _truth(is_true(a, element) & is_true(b, element), result)


def _times_square(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    if isinstance(element, FloatFormat) and isinstance(result, FloatFormat):
        x, y = np.broadcast_arrays(a, b)
        factor = difference(x.reshape(1, -1), y.reshape(1, -1), element)
        zero = np.zeros(factor.signed.shape[1:], np.uint64)
        window = 2 * max(element.significand_bits, result.significand_bits) + 2
        squares = fused_products(
            [(factor, factor)], zero, operand=element, result=result, alignment_bits=window
        )
        return squares.reshape(x.shape)
    distance = decode(a, element) - decode(b, element)
    return encode(distance * distance, result)


def _times_second(a: Patterns, b: Patterns, element: Format, result: Format) -> Patterns:
    passed = b if element == result else encode(decode(b, element), result)
    return np.where(is_true(a, element), passed, np.uint64(0))


def _plus_add(x: Patterns, y: Patterns, fmt: Format) -> Patterns:
    return encode(decode(x, fmt) + decode(y, fmt), fmt)


def _plus_or(x: Patterns, y: Patterns, fmt: Format) -> Patterns:
    return _truth(is_true(x, fmt) | is_true(y, fmt), fmt)


_TIMES: dict[str, Product] = {
    "add": _times_add,
    "mul": _times_mul,
    "min": _times_min,
    "max": _times_max,
    "and": _times_and,
    "square_difference": _times_square,
    "second": _times_second,
}

_PLUS: dict[str, Sum] = {"add": _plus_add, "min": _minimum, "max": _maximum, "or": _plus_or}
