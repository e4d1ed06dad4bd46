"""Golden model of p-GEMM: ``D = A B (+ C)`` of any size in every format, bit for bit.

The result depends on the operands alone: neither on the dataflow nor on how the work is cut.
Source: GTA, section 3.2; the numerics are the project's own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import is_float, result_bytes
from ....hw.spec.host.words import not_one_of
from ...numbers.container_words import words_of
from .float_chain import chains
from .integer_sums import integer_sums

__all__ = ["RESULTS", "pgemm"]

Patterns = npt.NDArray[np.uint64]

RESULTS = ("wrap", "saturate", "long")
"""Results of integers: the exact sum modulo the format, saturated to it, or whole."""

_LONG_BYTES = 8
"""Bytes of results of the formats whose sums may be had whole."""


def pgemm(
    format: str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    *,
    result: str = "wrap",
) -> Patterns:
    """The product of two matrices, added to a third one.

    Integers: with ``w = 8 * result_bytes(format)`` the exact ``C + A B`` modulo ``2**w`` ("wrap"),
    or clamped to w bits once, at the end ("saturate"); of int32 and int64 also modulo ``2**128``
    ("long"). Floats: for each element a chain of correctly rounded fused multiply-adds in
    ascending k, from C or from +0; bf16, fp16 and fp32 in fp32, fp64 in fp64. Every NaN is the
    canonical one; there is no saturation.

    Parameters
    ----------
    format: of A and B
    a, b: patterns of the format, (M, K) and (K, N)
    c: as the result; None: zeros (+0)
    result: what is kept of the sums, one of ``RESULTS``

    Returns
    -------
    Patterns, uint64 (M, N): of w-bit integers, of fp32 or of fp64. "long": (M, N, 2), the low word
    first.

    Raises
    ------
    TypeError for words that are no integers, ValueError for words too wide, shapes that do not
    match, a format or a result that there is not.
    """
    bits = 8 * result_bytes(format)
    left, right = words_of(a, FORMATS[format].bits), words_of(b, FORMATS[format].bits)
    sizes = left.shape, right.shape
    if (left.ndim, right.ndim) != (2, 2) or sizes[0][1] != sizes[1][0] or 0 in sizes[0] + sizes[1]:
        raise ValueError(f"`a` and `b` must be M x K and K x N, from 1, not {sizes[0]}, {sizes[1]}")
    if result not in RESULTS:
        raise ValueError(not_one_of("`result`", RESULTS, result))
    whole = result == "long"
    if result != "wrap" and (is_float(format) or (whole and bits != 8 * _LONG_BYTES)):
        allowed = "wrap" if is_float(format) else "wrap or saturate"
        raise ValueError(f"`result` of {format} must be {allowed}, not {result!r}")
    shape = (left.shape[0], right.shape[1], *([2] if whole else []))
    addend = np.zeros(shape, np.uint64) if c is None else words_of(c, bits)
    if addend.shape != shape:
        raise ValueError(f"`c` must have shape {shape}, not {addend.shape}")
    if is_float(format):
        return chains(format, left, right, addend)
    return integer_sums(format, left, right, addend, bits, result)
