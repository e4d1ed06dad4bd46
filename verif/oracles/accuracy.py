"""Errors in units in the last place, and the chain of fp32 fused multiply-adds to compare with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat

from . import softfloat
from .dot_product import exact_terms
from .softfloat import decode, ulp_exponent

Patterns = npt.NDArray[np.uint64]

ACCURACY_KINDS = (
    "uniform", "log_uniform", "cancellation", "exact_cancellation", "accumulator_cancels",
    "sum_cancels", "subnormal",
)  # fmt: skip
"""Distributions on which the unit must be at least as accurate as the chain."""


def as_fp32(patterns: Patterns, fmt: FloatFormat) -> Patterns:
    """The same values as fp32 patterns; every format of the matrix unit is a subset of fp32."""
    fp32 = FLOAT_FORMATS["fp32"]
    if fmt.exponent_bits == fp32.exponent_bits:
        return patterns << np.uint64(fp32.fraction_bits - fmt.fraction_bits)
    if fmt.name != "fp16":
        raise ValueError(f"no conversion of {fmt.name} to fp32")
    halves = patterns.astype(np.uint16).view(np.float16)
    return halves.astype(np.float32).view(np.uint32).astype(np.uint64)


def fma_chain(a: Patterns, b: Patterns, c: Patterns, operand: FloatFormat) -> Patterns:
    """``fma(a_n, b_n, ... fma(a_1, b_1, c))`` in fp32, by SoftFloat."""
    left, right = as_fp32(a, operand), as_fp32(b, operand)
    total = c
    for k in range(a.shape[1]):
        total = softfloat.multiply_add(left[:, k], right[:, k], total, FLOAT_FORMATS["fp32"])
    return total


def ulp_errors(
    a: Patterns, b: Patterns, c: Patterns, results: list[Patterns], operand: FloatFormat
) -> npt.NDArray[np.float64]:
    """Errors (len(results), count) of fp32 results, in units in the last place of the exact sum.

    An infinite or NaN result of a finite sum counts as 2**128. Rows whose exact sum is zero, not
    finite, or beyond the format are left out of all results alike.
    """
    fp32 = FLOAT_FORMATS["fp32"]
    rows = zip(a.tolist(), b.tolist(), c.tolist(), *(r.tolist() for r in results), strict=True)
    errors = []
    for row_a, row_b, addend, *found in rows:
        terms = exact_terms(row_a, row_b, addend, operand, fp32)
        beyond = abs(terms.sum).bit_length() + terms.unit > fp32.emax
        if terms.special is not None or terms.sum == 0 or beyond:
            continue
        ulp = ulp_exponent(terms.sum, terms.unit, fp32)
        errors.append([_error(pattern, terms.sum, terms.unit, ulp, fp32) for pattern in found])
    return np.array(errors, np.float64).reshape(-1, len(results)).T


def _error(pattern: int, exact: int, unit: int, ulp: int, fmt: FloatFormat) -> float:
    value = decode(pattern, fmt)
    integer, exponent = value.integer, value.exponent
    if value.kind != "finite":
        integer, exponent = 1, fmt.emax + 1
    low = min(unit, exponent, ulp)
    difference = abs((integer << (exponent - low)) - (exact << (unit - low)))
    return difference / (1 << (ulp - low))
