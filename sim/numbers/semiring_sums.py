"""``c (+) (+)_k (a_k (x) b_k)`` in any semiring, as units with one rounding compute it.

Sums of products (mma) and of squared differences (addnorm) are fused: one rounding for all terms
(:mod:`.fused`). Every other (+) is exact, and its products are rounded once (:mod:`.semirings`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...hw.spec.semirings import Semiring
from .fused import Factor, factor, fused_products
from .semirings import combine, difference, product
from .values import decode, encode

__all__ = ["semiring_sum"]

Words = npt.NDArray[np.uint64]


def semiring_sum(
    row: Semiring,
    a: Words,
    b: Words,
    c: Words,
    *,
    element: Format,
    result: Format,
    alignment_bits: int,
) -> Words:
    """Sums of patterns.

    Parameters
    ----------
    a, b: patterns of ``element``; first axis over the products, the others broadcast against ``c``,
        whose last one is best the longest
    c: patterns of ``result``
    alignment_bits: window of a fused sum of floats, in bits

    Returns
    -------
    Patterns of ``result``, shape of ``c``.
    """
    if row.plus != "add":
        d = c
        for x, y in zip(a, b, strict=True):
            d = combine(row, d, product(row, x, y, element, result), result)
        return d
    if isinstance(element, IntFormat):
        return _integer_sum(row, a, b, c, element, result)
    assert isinstance(element, FloatFormat)
    assert isinstance(result, FloatFormat)
    return _fused_sum(row, a, b, c, element, result, alignment_bits)


def _integer_sum(
    row: Semiring, a: Words, b: Words, c: Words, element: IntFormat, result: Format
) -> Words:
    """Modulo 2**64, of which every accumulator is a part."""
    total = decode(c, result)
    for x, y in zip(a, b, strict=True):
        if row.times == "mul":
            total = total + decode(x, element) * decode(y, element)
        elif row.times == "square_difference":
            distance = decode(x, element) - decode(y, element)
            total = total + distance * distance
        else:
            total = total + decode(product(row, x, y, element, result), result)
    return encode(total, result)


def _fused_sum(
    row: Semiring,
    a: Words,
    b: Words,
    c: Words,
    element: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> Words:
    operand = element
    if row.times == "mul":
        pair = factor(a, element), factor(b, element)
    elif row.times == "square_difference":
        distance = difference(a, b, element)
        pair = distance, distance
    else:
        pair, operand = _terms(row, a, b, element, result), result
    return fused_products([pair], c, operand=operand, result=result, alignment_bits=alignment_bits)


def _terms(
    row: Semiring, a: Words, b: Words, element: FloatFormat, result: FloatFormat
) -> tuple[Factor, Factor]:
    """Terms of a sum that are no products, times one."""
    terms = factor(product(row, a, b, element, result), result)
    return terms, factor(np.full(terms.signed.shape, result.one, np.uint64), result)
