"""Checks whether the results of a fused dot product are admissible, clause by clause of the
numerics page."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat

from . import softfloat
from .softfloat import Value, decode, order_key, round_exact, ulp_exponent


@dataclass(frozen=True)
class Terms:
    """The exact sum of one fused dot product.

    Parameters
    ----------
    special: the pattern that infinities or NaN force, or None
    sum: the exact sum, in units of ``2**unit``
    unit: exponent of the sum's unit, the smallest grid of a non-zero term
    top: the largest floor(log2 |term|)
    lowest: the smallest grid of a non-zero term
    products: how many products are non-zero
    negative_zeros: whether every term is a negative zero
    """

    special: int | None
    sum: int
    unit: int
    top: int
    lowest: int
    products: int
    negative_zeros: bool


@dataclass
class Report:
    """Results of a check.

    Parameters
    ----------
    checked: results looked at
    exact: results that are the correctly rounded exact sum
    violations: (index, the clause that fails)
    unreachable_zeros: results that miss an exact zero sum although they keep the bound: terms
        with places below the window cancel exactly, which no finite window can see
    """

    checked: int = 0
    exact: int = 0
    violations: list[tuple[int, str]] = field(default_factory=list)
    unreachable_zeros: list[int] = field(default_factory=list)


@lru_cache(maxsize=1 << 17)
def _decoded(pattern: int, fmt: FloatFormat) -> Value:
    return decode(pattern, fmt)


def exact_terms(
    a: list[int], b: list[int], c: int, operand: FloatFormat, result: FloatFormat
) -> Terms:
    """Sum one fused dot product exactly."""
    addend = _decoded(c, result)
    nan = addend.kind == "nan"
    infinities = {addend.negative} if addend.kind == "infinite" else set()
    present: list[tuple[int, int]] = []
    negative_zeros = addend.integer == 0 and addend.negative
    for pattern_a, pattern_b in zip(a, b, strict=True):
        x, y = _decoded(pattern_a, operand), _decoded(pattern_b, operand)
        negative = x.negative != y.negative
        if x.kind != "finite" or y.kind != "finite":
            zero = (x.kind == "finite" and x.integer == 0) or (
                y.kind == "finite" and y.integer == 0
            )
            nan = nan or x.kind == "nan" or y.kind == "nan" or zero
            infinities.add(negative)
        elif x.integer and y.integer:
            present.append((x.integer * y.integer, x.exponent + y.exponent))
        else:
            negative_zeros = negative_zeros and negative
    products = len(present)
    special = None
    if nan or len(infinities) == 2:
        special = result.nan
    elif infinities:
        sign = int(infinities.pop()) << (result.bits - 1)
        special = sign | result.infinity if result.has_infinity else result.nan
    if addend.integer:
        present.append((addend.integer, addend.exponent))
    if special is not None or not present:
        return Terms(special, 0, 0, 0, 0, products, negative_zeros and not present)
    unit = min(exponent for _, exponent in present)
    top = max(abs(integer).bit_length() - 1 + exponent for integer, exponent in present)
    total = sum(integer << (exponent - unit) for integer, exponent in present)
    return Terms(None, total, unit, top, unit, products, False)


def check_dot_products(
    a: npt.NDArray[np.generic],
    b: npt.NDArray[np.generic],
    c: npt.NDArray[np.generic],
    d: npt.NDArray[np.generic],
    *,
    operand: FloatFormat,
    result: FloatFormat,
    alignment_bits: int,
) -> Report:
    """Judge results ``d`` (count,) of operands (count, n) and addends (count,), all patterns.

    Checks the special values, the sign of zeros, the bound, clause 1 (no loss inside the window)
    and clause 2 (one product is a fused multiply-add). Clause 3 needs a second run with the
    products permuted; clause 4 holds if a multi-step result passes here.
    """
    report = Report()
    rows = zip(a.tolist(), b.tolist(), c.tolist(), d.tolist(), strict=True)
    for index, (row_a, row_b, addend, got) in enumerate(rows):
        terms = exact_terms(row_a, row_b, addend, operand, result)
        report.checked += 1
        if terms.special is not None:
            best = terms.special
        else:
            best = round_exact(terms.sum, terms.unit, result, terms.negative_zeros)
        if got == best:
            report.exact += 1
            continue
        fault = _fault(terms, got, len(row_a), result, alignment_bits)
        if fault == "":
            continue
        if fault == "unreachable zero":
            report.unreachable_zeros.append(index)
        else:
            report.violations.append((index, f"{fault}: {got:#x}, nearest {best:#x}"))
    return report


def _fault(terms: Terms, got: int, products: int, result: FloatFormat, alignment_bits: int) -> str:
    """Why a result that is not the correctly rounded sum is wrong; empty if it is admissible."""
    if terms.special is not None:
        return "special value"
    if terms.products <= 1:
        return "clause 2, one product"
    window = terms.top - alignment_bits
    if terms.lowest >= window:
        return "clause 1, no loss inside the window"
    if decode(got, result).kind == "nan":
        return "NaN out of nothing"
    # Both ends of the interval in units of the smaller of the two grids.
    bound = (products + 1) << (window - terms.unit)
    low = order_key(round_exact(terms.sum - bound, terms.unit, result), result)
    high = order_key(round_exact(terms.sum + bound, terms.unit, result), result)
    if not low <= order_key(got, result) <= high:
        return "bound"
    return "unreachable zero" if terms.sum == 0 else ""


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
