"""Golden model of GTA's vector operations, element by element, in every format.

Source: GTA, section 3.2, vector operators; the table of operations is the project's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS, FloatFormat, Format, IntFormat
from ....hw.spec.gta import is_float
from ....hw.spec.host.words import not_one_of
from ...numbers import multiply_add as fused
from ...numbers import scalars
from ...numbers.container_words import words_of
from ...numbers.values import Patterns, decode, encode, order, unorder

# Golden model of the reductions of a vector: sum, smallest and largest element.
#
# **Order.** A sum of floats is a chain in ascending order, as in a product of matrices: to the
# start the first element is added and the sum rounded to the format, then the second, and so on to
# the last. The start is +0 unless given, so that a sum of negative zeros is +0. The other
# reductions do not depend on an order.

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


IntFunction = Callable[..., npt.NDArray[Any]]
"""Maps a format and operands to words of which the low bits count."""

FloatFunction = Callable[..., npt.NDArray[Any]]
"""Maps a format and operands to patterns of the format, or flags."""


class Operation(NamedTuple):
    """The functions of an operation; ``floats`` is None if it takes integers only."""

    operands: int
    integers: IntFunction
    floats: FloatFunction | None


def elementwise(operation: str, format: str, *operands: npt.ArrayLike) -> Patterns:
    """An operation on vectors of one format.

    ==================  ===========================================================================
    add, sub, mul, fma  ``a + b``, ``a - b``, ``a * b``, ``a * b + c``: of integers modulo ``2**w``,
                        w the format's own width; of floats rounded once, to the format itself
    mulh                the upper w bits of the product of signed integers
    min, max            of signed integers; of floats IEEE 754-2019 minimum and maximum: a NaN
                        wins, -0 is below +0
    sll, srl, sra       integers shifted left, right with zeros, right with the sign, by ``b``
                        modulo w
    eq, ne, lt, le      1 where it holds, else 0: of signed integers; of floats as in IEEE 754: the
                        zeros are equal, with a NaN only ``ne`` holds
    ==================  ===========================================================================

    Parameters
    ----------
    operation: one of ``OPERATIONS``
    operands: patterns of the format, as many as the operation takes; they broadcast

    Returns
    -------
    Patterns of the format, uint64; every NaN the canonical one. Of comparisons 0 and 1.

    Raises
    ------
    TypeError for words that are no integers or a wrong number of operands, ValueError for words too
    wide, an operation or a format that there is not, an operation that floats do not have.
    """
    floating, fmt = is_float(format), FORMATS[format]
    allowed = [name for name, row in OPERATIONS.items() if row.floats or not floating]
    if operation not in allowed:
        raise ValueError(not_one_of(f"`operation` on {format}", allowed, operation))
    row = OPERATIONS[operation]
    if len(operands) != row.operands:
        raise TypeError(f"`{operation}` takes {row.operands} operands, not {len(operands)}")
    words = np.broadcast_arrays(*(words_of(operand, fmt.bits) for operand in operands))
    with np.errstate(over="ignore"):
        found = (row.floats if floating and row.floats else row.integers)(fmt, *words)
    return found.astype(np.uint64) & np.uint64((1 << fmt.bits) - 1)


def _multiply_high(fmt: IntFormat, a: Patterns, b: Patterns) -> npt.NDArray[Any]:
    x, y = decode(a, fmt), decode(b, fmt)
    if fmt.bits <= 32:
        return (x * y) >> fmt.bits
    half = np.int64((1 << 32) - 1)
    x_high, x_low, y_high, y_low = x >> 32, x & half, y >> 32, y & half
    lowest = ((x_low * y_low).view(np.uint64) >> np.uint64(32)).view(np.int64)
    # Each below 2**63: a product with a sign and an unsigned one of 32 bits, and what is carried.
    first = x_high * y_low + lowest
    second = x_low * y_high + (first & half)
    return x_high * y_high + (first >> 32) + (second >> 32)


def _amount(fmt: IntFormat, b: Patterns) -> Patterns:
    return b & np.uint64(fmt.bits - 1)


def _shift_arithmetic(fmt: IntFormat, a: Patterns, b: Patterns) -> npt.NDArray[Any]:
    shifted: npt.NDArray[Any] = decode(a, fmt) >> _amount(fmt, b).view(np.int64)
    return shifted


def _of_numbers(function: Callable[..., Any]) -> IntFunction:
    """A function of signed integers, on patterns."""
    return lambda fmt, *words: function(*(decode(word, fmt) for word in words))


def _of_floats(function: Callable[..., Any]) -> FloatFunction:
    """A function that takes its format last."""
    return lambda fmt, *words: function(*words, fmt)


def _subtract(a: Patterns, b: Patterns, fmt: FloatFormat) -> Patterns:
    return scalars.add(a, b ^ np.uint64(1 << (fmt.bits - 1)), fmt)


def _relation(holds: Callable[[scalars.Comparison], npt.NDArray[np.bool_]]) -> FloatFunction:
    return lambda fmt, a, b: holds(scalars.compare(a, b, fmt))


OPERATIONS: dict[str, Operation] = {
    "add": Operation(2, lambda fmt, a, b: a + b, _of_floats(scalars.add)),
    "sub": Operation(2, lambda fmt, a, b: a - b, _of_floats(_subtract)),
    "mul": Operation(2, lambda fmt, a, b: a * b, _of_floats(scalars.multiply)),
    "mulh": Operation(2, _multiply_high, None),
    "fma": Operation(3, lambda fmt, a, b, c: a * b + c, _of_floats(fused.multiply_add)),
    "min": Operation(2, _of_numbers(np.minimum), _of_floats(scalars.minimum)),
    "max": Operation(2, _of_numbers(np.maximum), _of_floats(scalars.maximum)),
    "sll": Operation(2, lambda fmt, a, b: a << _amount(fmt, b), None),
    "srl": Operation(2, lambda fmt, a, b: a >> _amount(fmt, b), None),
    "sra": Operation(2, _shift_arithmetic, None),
    "eq": Operation(2, _of_numbers(np.equal), _relation(lambda r: r.equal)),
    "ne": Operation(2, _of_numbers(np.not_equal), _relation(lambda r: ~r.equal)),
    "lt": Operation(2, _of_numbers(np.less), _relation(lambda r: r.less)),
    "le": Operation(2, _of_numbers(np.less_equal), _relation(lambda r: r.less | r.equal)),
}
