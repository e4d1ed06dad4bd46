"""The operations of the element-wise core on the values of a format, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FloatFormat, Format
from ....hw.spec.semirings import SEMIRINGS
from ...numbers.fused import fused_dot_product
from ...numbers.semirings import combine
from ...numbers.values import Patterns, decode, encode, is_true

__all__ = ["OPERATIONS", "truth"]

_FMA_BITS = 128
"""Of the window of one product and one addend; a single product is exact in any."""

Operation = Callable[..., Patterns]


def truth(flags: npt.NDArray[np.bool_], fmt: Format) -> Patterns:
    """1 and 0 of the format."""
    one = fmt.constant("1")
    assert one is not None
    return np.where(flags, np.uint64(one), np.uint64(0))


def _by_numbers(compute: Callable[..., Any]) -> Operation:
    """An operation whose result float64, or int64, holds so well that it is rounded once."""

    def operation(fmt: Format, *values: Patterns) -> Patterns:
        with np.errstate(all="ignore"):
            return encode(compute(*(decode(value, fmt) for value in values)), fmt)

    return operation


def _by_relation(compare: Callable[..., Any]) -> Operation:
    def operation(fmt: Format, *values: Patterns) -> Patterns:
        return truth(compare(*(decode(value, fmt) for value in values)), fmt)

    return operation


def _bytruth(decide: Callable[..., Any]) -> Operation:
    def operation(fmt: Format, *values: Patterns) -> Patterns:
        return truth(decide(*(is_true(value, fmt) for value in values)), fmt)

    return operation


def _extreme(name: str) -> Operation:
    def operation(fmt: Format, x: Patterns, y: Patterns) -> Patterns:
        return combine(SEMIRINGS[name], x, y, fmt)

    return operation


def _fma(fmt: Format, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    if not isinstance(fmt, FloatFormat):
        return encode(decode(a, fmt) * decode(b, fmt) + decode(c, fmt), fmt)
    x, y, z = np.broadcast_arrays(a, b, c)
    return fused_dot_product(
        x[..., None], y[..., None], z, operand=fmt, result=fmt, alignment_bits=_FMA_BITS
    )


def _sign(fmt: Format) -> np.uint64:
    return np.uint64(1 << (fmt.bits - 1))


def _absolute(fmt: Format, a: Patterns) -> Patterns:
    if isinstance(fmt, FloatFormat):
        return _quiet(fmt, a, a & ~_sign(fmt))
    return encode(np.abs(decode(a, fmt)), fmt)


def _negative(fmt: Format, a: Patterns) -> Patterns:
    if isinstance(fmt, FloatFormat):
        return _quiet(fmt, a, a ^ _sign(fmt))
    return encode(-decode(a, fmt), fmt)


def _quiet(fmt: FloatFormat, a: Patterns, found: Patterns) -> Patterns:
    """The canonical NaN where there was one."""
    return np.where(np.isnan(decode(a, fmt)), np.uint64(fmt.nan), found)


def _relu(fmt: Format, a: Patterns) -> Patterns:
    return combine(SEMIRINGS["maxplus"], a, np.zeros_like(a), fmt)


def _select(fmt: Format, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    return np.where(is_true(a, fmt), b, c)


OPERATIONS: dict[str, Operation] = {
    "add": _by_numbers(np.add),
    "sub": _by_numbers(np.subtract),
    "mul": _by_numbers(np.multiply),
    "fma": _fma,
    "div": _by_numbers(np.divide),
    "sqrt": _by_numbers(np.sqrt),
    "min": _extreme("minplus"),
    "max": _extreme("maxplus"),
    "abs": _absolute,
    "neg": _negative,
    "relu": _relu,
    "equal": _by_relation(np.equal),
    "less": _by_relation(np.less),
    "atmost": _by_relation(np.less_equal),
    "and": _bytruth(np.logical_and),
    "or": _bytruth(np.logical_or),
    "not": _bytruth(np.logical_not),
    "select": _select,
}
