"""The semiring operations result by result, in exact integers: the numerics page, row by row.

Operands are lists of patterns, one list for each of a and b, and an addend. ``exact_result`` gives
the one right pattern of the semirings whose (+) is exact; ``check_sums`` judges the fused sums, of
which the numerics page leaves some freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat, Format, IntFormat
from tilewright.hw.spec.semirings import Semiring

from .dot_product import Report, check_dot_products
from .softfloat import Value, decode, order_key, round_exact

Array = npt.NDArray[np.generic]


def exact_result(
    row: Semiring, a: list[int], b: list[int], c: int, element: Format, result: Format
) -> int:
    """``c (+) (+)_k (a_k (x) b_k)`` for a (+) other than the sum of floats."""
    if isinstance(element, IntFormat) and isinstance(result, IntFormat):
        return _integer_result(row, a, b, c, element, result)
    assert isinstance(result, FloatFormat)
    terms = [c, *(exact_product(row, x, y, element, result) for x, y in zip(a, b, strict=True))]
    if row.plus == "or":
        return _one(result) if any(_true(term, result) for term in terms) else 0
    if any(decode(term, result).kind == "nan" for term in terms):
        return _nan(result)
    choose = {"min": min, "max": max}[row.plus]
    return choose(terms, key=lambda term: order_key(term, result))


@lru_cache(maxsize=1 << 17)
def exact_product(row: Semiring, x: int, y: int, element: FloatFormat, result: FloatFormat) -> int:
    """``x (x) y``, rounded once to the result's format."""
    if row.times == "and":
        return _one(result) if _true(x, element) and _true(y, element) else 0
    left, right = decode(x, element), decode(y, element)
    if "nan" in (left.kind, right.kind):
        return _nan(result)
    return _TIMES[row.times](left, right, result)


def check_sums(
    row: Semiring,
    a: Array,
    b: Array,
    c: Array,
    d: Array,
    *,
    element: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> Report:
    """Judge results ``d`` (count,) of a fused sum: a, b (count, n), c (count,), all patterns."""
    if row.times == "mul":
        operand, left, right = element, a, b
    elif row.times == "square_difference":
        operand = widened(element)
        pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
        distances = [rounded_difference(x, y, element) for x, y in pairs]
        left = right = np.array(distances, object).reshape(a.shape)
    else:
        operand = element
        pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
        terms = [exact_product(row, x, y, element, element) for x, y in pairs]
        left = np.array(terms, object).reshape(a.shape)
        right = np.full(a.shape, _one(element), object)
    return check_dot_products(
        left, right, c, d, operand=operand, result=result, alignment_bits=alignment_bits
    )


@cache
def widened(fmt: FloatFormat) -> FloatFormat:
    """Returns a format with the same significand bits, infinities, and exponents for any
    difference."""
    return FloatFormat(
        name=f"{fmt.name} widened",
        exponent_bits=fmt.exponent_bits + 2,
        fraction_bits=fmt.fraction_bits,
        container_bits=128,
    )


def rounded_difference(x: int, y: int, fmt: FloatFormat) -> int:
    """``x - y`` rounded to the significand's width, as a pattern of the widened format."""
    left, right, wide = decode(x, fmt), decode(y, fmt), widened(fmt)
    if "nan" in (left.kind, right.kind):
        return _nan(wide)
    return _sum(left, right._replace(negative=not right.negative, integer=-right.integer), wide)


def _sum(x: Value, y: Value, fmt: FloatFormat) -> int:
    infinities = {value.negative for value in (x, y) if value.kind == "infinite"}
    if infinities:
        return _nan(fmt) if len(infinities) == 2 else _infinity(infinities.pop(), fmt)
    unit = min(x.exponent, y.exponent)
    total = (x.integer << (x.exponent - unit)) + (y.integer << (y.exponent - unit))
    # A sum of exactly zero is -0 of two negative zeros only.
    zeros = x.negative and y.negative and x.integer == 0 and y.integer == 0
    return round_exact(total, unit, fmt, zeros)


def _product(x: Value, y: Value, fmt: FloatFormat) -> int:
    negative = x.negative != y.negative
    if "infinite" in (x.kind, y.kind):
        zero = any(value.kind == "finite" and value.integer == 0 for value in (x, y))
        return _nan(fmt) if zero else _infinity(negative, fmt)
    return round_exact(x.integer * y.integer, x.exponent + y.exponent, fmt, negative)


def _smaller(x: Value, y: Value, fmt: FloatFormat) -> int:
    return min(_same(x, fmt), _same(y, fmt), key=lambda pattern: order_key(pattern, fmt))


def _larger(x: Value, y: Value, fmt: FloatFormat) -> int:
    return max(_same(x, fmt), _same(y, fmt), key=lambda pattern: order_key(pattern, fmt))


def _same(x: Value, fmt: FloatFormat) -> int:
    """A value in a format that holds it."""
    if x.kind == "infinite":
        return _infinity(x.negative, fmt)
    return round_exact(x.integer, x.exponent, fmt, x.negative)


_TIMES: dict[str, Callable[[Value, Value, FloatFormat], int]] = {
    "add": _sum,
    "mul": _product,
    "min": _smaller,
    "max": _larger,
}


def _true(pattern: int, fmt: FloatFormat) -> bool:
    value = decode(pattern, fmt)
    return value.kind != "finite" or value.integer != 0


def _nan(fmt: FloatFormat) -> int:
    if not fmt.has_infinity:
        return (1 << (fmt.bits - 1)) - 1
    return ((2 << fmt.exponent_bits) - 1) << (fmt.fraction_bits - 1)


def _infinity(negative: bool, fmt: FloatFormat) -> int:
    body = ((1 << fmt.exponent_bits) - 1) << fmt.fraction_bits
    return body | int(negative) << (fmt.bits - 1)


def _one(fmt: FloatFormat) -> int:
    return ((1 << (fmt.exponent_bits - 1)) - 1) << fmt.fraction_bits


def _signed(pattern: int, fmt: IntFormat) -> int:
    return pattern - (1 << fmt.bits) if pattern >> (fmt.bits - 1) else pattern


def _integer_result(
    row: Semiring, a: list[int], b: list[int], c: int, element: IntFormat, result: IntFormat
) -> int:
    size = 1 << result.bits
    lowest, highest = -size // 2, size // 2 - 1
    ends = {"0": 0, "+inf": highest, "-inf": lowest}
    own = {"0": 0, "+inf": (1 << element.bits) // 2 - 1, "-inf": -(1 << element.bits) // 2}
    terms = [_signed(c, result)]
    for pattern_x, pattern_y in zip(a, b, strict=True):
        x, y = _signed(pattern_x, element), _signed(pattern_y, element)
        term = {
            "add": min(max(x + y, lowest), highest),
            "mul": (x * y - lowest) % size + lowest,
            "min": min(x, y),
            "max": max(x, y),
            "and": int(x != 0 and y != 0),
            "square_difference": (x - y) ** 2,
        }[row.times]
        if row.plus in ("min", "max") and (x, y) == (own[row.padding[0]], own[row.padding[1]]):
            term = ends[row.identity]
        terms.append(term)
    total = {
        "add": sum(terms),
        "min": min(terms),
        "max": max(terms),
        "or": int(any(terms)),
    }[row.plus]
    return total % size
