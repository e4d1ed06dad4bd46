"""What NumPy has for operations on vectors, where it computes exactly what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import is_float
from ..agreement import Agreement, exactly
from ..operands import Operand
from .names import SLIDES

__all__ = ["reference"]

Values = NDArray[Any]

_TYPES: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}

_ANY: dict[str, Callable[..., Values]] = {
    "min": np.minimum,
    "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "select": lambda mask, a, b: np.choose(mask == 0, [a, b]),
    "reduce_min": lambda a: a.min(axis=-1),
    "reduce_max": lambda a: a.max(axis=-1),
}
"""Of all formats: what rounds nothing."""

_ROUNDED: dict[str, Callable[..., Values]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "reduce_sum": lambda a: np.add.accumulate(
        np.concatenate([np.zeros((*a.shape[:-1], 1), a.dtype), a], axis=-1), axis=-1
    )[..., -1],
}
"""Of the formats that NumPy has, rounded once, or in ascending order."""


def reference(
    format: str, function: str, operands: Sequence[Operand], places: int, found: Values
) -> Agreement | None:
    """A result beside NumPy's: integers and the zeros' signs aside all bits; None where it has no
    such operation."""
    values = [operand.values for operand in operands]
    if function in SLIDES:
        expected = _slid(values[0], places if function == "slide_up" else -places)
    elif function in _ANY:
        expected = _ANY[function](*values)
    elif not is_float(format):
        expected = _integers(format, function, values)
    elif format in _TYPES and function in _ROUNDED:
        with np.errstate(all="ignore"):
            expected = _ROUNDED[function](*(each.astype(_TYPES[format]) for each in values))
    else:
        return None
    nowhere = np.isnan(expected) & np.isnan(found) if is_float(format) else np.False_
    return exactly("NumPy", np.where(nowhere, 0, found), np.where(nowhere, 0, expected))


def _slid(values: Values, places: int) -> Values:
    moved = np.zeros_like(values)
    kept = max(0, len(values) - abs(places))
    if places >= 0:
        moved[len(values) - kept :] = values[:kept]
    else:
        moved[:kept] = values[len(values) - kept :]
    return moved


def _integers(format: str, function: str, values: Sequence[Values]) -> Values:
    """Modulo the width of the format."""
    bits = FORMATS[format].bits
    own = [each.astype(f"i{bits // 8}") for each in values]
    with np.errstate(over="ignore"):
        if function == "mulh":
            whole = own[0].astype(object) * own[1].astype(object) >> bits
            return whole.astype(np.int64).astype(own[0].dtype)
        if function == "fma":
            return own[0] * own[1] + own[2]
        if function == "reduce_sum":
            return own[0].sum(axis=-1, dtype=own[0].dtype)
        if function in _ROUNDED:
            return _ROUNDED[function](*own)
        amount = own[1] & own[1].dtype.type(bits - 1)
        if function == "srl":
            return (own[0].view(f"u{bits // 8}") >> amount.view(f"u{bits // 8}")).view(own[0].dtype)
        return own[0] << amount if function == "sll" else own[0] >> amount
