"""Berkeley SoftFloat over arrays of patterns.

fp16, fp32 and fp64 are SoftFloat's own. bf16 sums and products are SoftFloat's binary32 ones
rounded by its conversion to bfloat16: 24 bits are at least 2 * 8 + 2, and every sum or product of
bf16 values that reaches half of the smallest bf16 subnormal is a multiple of binary32's smallest,
so the second rounding cannot spoil the first (Figueroa, "When is double rounding innocuous?").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import softfloatpy
from tilewright.hw.spec.formats import FloatFormat


class Value(NamedTuple):
    """``kind`` is "nan", "infinite" or "finite"; a finite value is ``integer * 2**exponent``.

    ``integer`` is signed, ``exponent`` is the exponent of the value's last place (the grid of
    the numerics page), ``negative`` the sign bit.
    """

    kind: str
    negative: bool
    integer: int
    exponent: int


def decode(pattern: int, fmt: FloatFormat) -> Value:
    """The value of a pattern of ``fmt.bits`` bits."""
    negative = bool(pattern >> (fmt.bits - 1) & 1)
    field = pattern >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
    fraction = pattern & ((1 << fmt.fraction_bits) - 1)
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    if field == (1 << fmt.exponent_bits) - 1:
        if not fmt.has_infinity:
            if fraction == (1 << fmt.fraction_bits) - 1:
                return Value("nan", negative, 0, 0)
        else:
            return Value("nan" if fraction else "infinite", negative, 0, 0)
    integer = fraction + (1 << fmt.fraction_bits if field else 0)
    exponent = max(field, 1) - bias - fmt.fraction_bits
    return Value("finite", negative, -integer if negative else integer, exponent)


def round_exact(integer: int, exponent: int, fmt: FloatFormat, negative_zero: bool = False) -> int:
    """The pattern nearest to ``integer * 2**exponent``, ties to even.

    An exact zero takes the sign asked for; a value that underflows keeps its own.
    """
    top = 1 << (fmt.bits - 1)
    if integer == 0:
        return top if negative_zero else 0
    sign = top if integer < 0 else 0
    size = -integer if integer < 0 else integer
    places = fmt.fraction_bits
    leading = size.bit_length() - 1 + exponent
    smallest = 2 - 2 ** (fmt.exponent_bits - 1)
    last = max(leading, smallest) - places
    cut = last - exponent
    if cut <= 0:
        count = size << -cut
    else:
        count, rest = size >> cut, size & ((1 << cut) - 1)
        half = 1 << (cut - 1)
        if rest > half or (rest == half and count & 1):
            count += 1
    if count >> (places + 1):
        count, last = count >> 1, last + 1
    if count >> places == 0:
        return sign | count
    field = last + places - smallest + 1
    pattern = (field << places) + count - (1 << places)
    all_ones = (1 << fmt.exponent_bits) - 1
    if fmt.has_infinity:
        return sign | min(pattern, all_ones << places)
    not_a_number = top - 1
    return not_a_number if pattern >= not_a_number else sign | pattern


def order_key(pattern: int, fmt: FloatFormat) -> int:
    """Position of a non-NaN pattern in the order of values, -0 right below +0."""
    top = 1 << (fmt.bits - 1)
    return pattern if pattern < top else -(pattern - top) - 1


def ulp_exponent(integer: int, exponent: int, fmt: FloatFormat) -> int:
    """Exponent of the unit in the last place of ``fmt`` at ``integer * 2**exponent``."""
    smallest = 2 - 2 ** (fmt.exponent_bits - 1)
    leading = abs(integer).bit_length() - 1 + exponent if integer else smallest
    return max(leading, smallest) - fmt.fraction_bits


Patterns = npt.NDArray[np.uint64]

FORMATS = ("fp16", "bf16", "fp32", "fp64")

_NATIVE = {"fp16": 16, "fp32": 32, "fp64": 64}


def add(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    return _arithmetic("add", (a, b), fmt)


def multiply(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    return _arithmetic("mul", (a, b), fmt)


def multiply_add(
    a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, fmt: FloatFormat
) -> Patterns:
    """``a * b + c`` rounded once; not for bf16, where two roundings could differ from one."""
    if fmt.name not in _NATIVE:
        raise ValueError(f"SoftFloat has no fused multiply-add of {fmt.name}")
    return _arithmetic("mul_add", (a, b, c), fmt)


def divide(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    return _arithmetic("div", (a, b), fmt)


def square_root(a: npt.ArrayLike, fmt: FloatFormat) -> Patterns:
    return _arithmetic("sqrt", (a,), fmt)


def less(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> npt.NDArray[np.bool_]:
    return _relation("lt", a, b, fmt)


def equal(a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat) -> npt.NDArray[np.bool_]:
    return _relation("eq", a, b, fmt)


def _values(patterns: npt.ArrayLike, fmt: FloatFormat) -> tuple[int, list[Any]]:
    """SoftFloat objects of patterns, and the width SoftFloat computes in."""
    words = np.asarray(patterns).astype(np.uint64).ravel()
    if fmt.name == "bf16":
        words = words << np.uint64(16)
    bits = _NATIVE.get(fmt.name, 32)
    size = bits // 8
    raw = words.astype(f">u{size}").tobytes()
    build = getattr(softfloatpy, f"Float{bits}").from_bytes
    return bits, [build(raw[i : i + size]) for i in range(0, len(raw), size)]


def _function(operation: str, bits: int) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(softfloatpy, f"f{bits}_{operation}")
    return function


def _arithmetic(operation: str, operands: Sequence[npt.ArrayLike], fmt: FloatFormat) -> Patterns:
    columns = [_values(operand, fmt) for operand in operands]
    bits = columns[0][0]
    compute = _function(operation, bits)
    results = [compute(*row) for row in zip(*(values for _, values in columns), strict=True)]
    if fmt.name == "bf16":
        results = [softfloatpy.f32_to_bf16(value) for value in results]
    raw = b"".join([value.to_bytes() for value in results])
    patterns = np.frombuffer(raw, f">u{fmt.bits // 8}").astype(np.uint64)
    top = fmt.exponent_mask << fmt.fraction_bits
    nan = (patterns & np.uint64((1 << (fmt.bits - 1)) - 1)) > np.uint64(top)
    return np.where(nan, np.uint64(fmt.nan), patterns).reshape(np.shape(operands[0]))


def _relation(
    operation: str, a: npt.ArrayLike, b: npt.ArrayLike, fmt: FloatFormat
) -> npt.NDArray[np.bool_]:
    bits, left = _values(a, fmt)
    _, right = _values(b, fmt)
    holds = _function(operation, bits)
    flags = [bool(holds(x, y)) for x, y in zip(left, right, strict=True)]
    return np.array(flags, np.bool_).reshape(np.shape(a))
