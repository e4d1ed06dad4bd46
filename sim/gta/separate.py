"""Golden model of the lane with separate units for each number format.

Source: GTA, sections 4.2 and 6.1; of integers their definition, of floats IEEE 754.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FORMATS, FloatFormat, Format
from ...hw.spec.gta_lane.separate import GtaSeparateConfig, sum_format
from ..numbers import multiply_add as fused
from ..numbers.scalars import convert

Words = npt.NDArray[np.uint64]


def multiply_add(format: str, a: Words, b: Words, c: Words) -> Words:
    """``a * b + c``, element by element: integers exactly, modulo the width of c; floats rounded
    once, bf16 and fp16 being widened to fp32 first.

    Parameters
    ----------
    format: of a and b, one of ``FORMATS_OF_GTA``
    a, b: container words, of one shape
    c: container words of ``sum_format``; a first axis runs over those of an element, the low one
        first

    Returns
    -------
    As c.
    """
    operand, result = FORMATS[format], sum_format(format)
    if isinstance(operand, FloatFormat) and isinstance(result, FloatFormat):
        if operand != result:
            a, b = convert(a, operand, result), convert(b, operand, result)
        return fused.multiply_add(a, b, c[0], result)[np.newaxis]
    addend = sum(word.astype(object) << result.bits * place for place, word in enumerate(c))
    total = _signed(a, operand) * _signed(b, operand) + addend
    mask = (1 << result.bits) - 1
    cut = [(total >> result.bits * place) & mask for place in range(len(c))]
    return np.stack(cut).astype(np.uint64)


def _signed(words: Words, fmt: Format) -> npt.NDArray[np.object_]:
    """The integers that words stand for."""
    top = 1 << (fmt.bits - 1)
    numbers: Any = (words.astype(object) ^ top) - top
    return numbers


def golden(
    config: GtaSeparateConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One operation on container words: a, b, c to d; see :class:`tilewright.registry.Entry`."""
    a, b, c = (np.asarray(operands[name], np.uint64) for name in "abc")
    return {"d": multiply_add(operation, a[0], b[0], c)}
