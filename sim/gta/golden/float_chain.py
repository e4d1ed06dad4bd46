"""Products of matrices of floats: chains of fused multiply-adds, in ascending k."""

from __future__ import annotations

import numpy as np

from ....hw.spec.formats import FLOAT_FORMATS
from ...numbers.floats import unpack
from ...numbers.fused import factor
from ...numbers.multiply_add import multiply_add_unpacked, sum_to_odd
from ...numbers.values import Patterns, decode, encode

__all__ = ["chains"]

_FP32, _FP64 = FLOAT_FORMATS["fp32"], FLOAT_FORMATS["fp64"]

_BLOCK = 1 << 14
"""Sums worked on at a time: they stay in the level-2 cache."""


def chains(format: str, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    """``fma(a_K, b_K, ... fma(a_1, b_1, c))`` in fp32, or in fp64 for fp64.

    Parameters
    ----------
    a, b: patterns of the format, (M, K) and (K, N)
    c: patterns of the result, (M, N)
    """
    compute = _fp64 if format == "fp64" else _fp32
    d = np.empty(c.shape, np.uint64)
    cols = min(c.shape[1], _BLOCK)
    rows = max(1, _BLOCK // max(1, cols))
    for top in range(0, c.shape[0], rows):
        for left in range(0, c.shape[1], cols):
            down, across = slice(top, top + rows), slice(left, left + cols)
            d[down, across] = compute(format, a[down], b[:, across], c[down, across])
    return d


def _fp32(format: str, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    """Operands and sums as float64, which holds them and every product."""
    operand, result = FLOAT_FORMATS[format], FLOAT_FORMATS["fp32"]
    x, y, total = decode(a, operand), decode(b, operand), decode(c, result)
    with np.errstate(all="ignore"):
        for k in range(x.shape[1]):
            odd = sum_to_odd(x[:, k, np.newaxis] * y[k], total)
            total = odd.astype(np.float32).astype(np.float64)
    return encode(total, result)


def _fp64(format: str, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    fmt = FLOAT_FORMATS[format]
    x, y = factor(a, fmt), factor(b, fmt)
    total = c.view(np.int64)
    for k in range(a.shape[1]):
        column, row = x.part((slice(None), k, np.newaxis)), y.part(k)
        total = multiply_add_unpacked(column, row, unpack(total, fmt), fmt)
    return total.view(np.uint64)
