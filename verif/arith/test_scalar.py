"""Add, multiply, compare, minimum and maximum in RTL against SoftFloat and exact arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.sim.numbers import scalars as arith
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.arith.arithmetic import RtlFunction, ScalarOperations, agree
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles import softfloat
from tilewright.verif.oracles.softfloat import decode, order_key, round_exact

pytestmark = pytest.mark.quick

SMALL = ("fp8e4m3", "fp8e5m2")
LARGE = ("fp16", "bf16", "fp32")

Patterns = npt.NDArray[np.uint64]


@cache
def rtl(name: str) -> RtlFunction:
    return RtlFunction(ScalarOperations(FLOAT_FORMATS[name]), f"scalar_{name}")


def negated(patterns: Patterns, fmt: FloatFormat) -> Patterns:
    return patterns ^ np.uint64(1 << (fmt.bits - 1))


def exact_sum(a: int, b: int, fmt: FloatFormat) -> int:
    x, y = decode(a, fmt), decode(b, fmt)
    if "nan" in (x.kind, y.kind):
        return fmt.nan
    if "infinite" in (x.kind, y.kind):
        both = x.kind == y.kind and x.negative != y.negative
        return fmt.nan if both else a if x.kind == "infinite" else b
    unit = min(x.exponent, y.exponent)
    total = (x.integer << (x.exponent - unit)) + (y.integer << (y.exponent - unit))
    return round_exact(total, unit, fmt, x.negative and y.negative)


def exact_product(a: int, b: int, fmt: FloatFormat) -> int:
    x, y = decode(a, fmt), decode(b, fmt)
    negative = x.negative != y.negative
    kinds = (x.kind, y.kind)
    if "nan" in kinds:
        return fmt.nan
    if "infinite" in kinds:
        zero = (x.kind == "finite" and not x.integer) or (y.kind == "finite" and not y.integer)
        return fmt.nan if zero else fmt.infinity | int(negative) << (fmt.bits - 1)
    return round_exact(x.integer * y.integer, x.exponent + y.exponent, fmt, negative)


def exact_minimum(a: int, b: int, fmt: FloatFormat) -> int:
    if "nan" in (decode(a, fmt).kind, decode(b, fmt).kind):
        return fmt.nan
    return min(a, b, key=lambda pattern: order_key(pattern, fmt))


def exact_maximum(a: int, b: int, fmt: FloatFormat) -> int:
    if "nan" in (decode(a, fmt).kind, decode(b, fmt).kind):
        return fmt.nan
    return max(a, b, key=lambda pattern: order_key(pattern, fmt))


@pytest.mark.parametrize("name", slow_but(["fp8e4m3"], SMALL))
def test_every_pair_of_fp8_values(name: str) -> None:
    """65,536 pairs, sums and differences, against exact arithmetic."""
    fmt = FLOAT_FORMATS[name]
    left, right = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    a, b = left.ravel().astype(np.uint64), right.ravel().astype(np.uint64)
    got = rtl(name)(a=a, b=b, subtract=np.zeros(a.shape))
    difference = rtl(name)(a=a, b=b, subtract=np.ones(a.shape))["total"]
    rows = list(zip(a.tolist(), b.tolist(), strict=True))
    sums = np.array([exact_sum(x, y, fmt) for x, y in rows], np.uint64)
    agree("add", got["total"], sums, a, b)
    agree("subtract", difference, sums.reshape(256, 2, 128)[:, ::-1].ravel(), a, b)
    agree("multiply", got["product"], [exact_product(x, y, fmt) for x, y in rows], a, b)
    agree("minimum", got["minimum"], [exact_minimum(x, y, fmt) for x, y in rows], a, b)
    agree("maximum", got["maximum"], [exact_maximum(x, y, fmt) for x, y in rows], a, b)
    values = [decode(pattern, fmt) for pattern in range(256)]
    reals = np.array([_real(value) for value in values])
    x, y = reals[left.ravel()], reals[right.ravel()]
    _check_relations(got, x < y, x == y, a, b)


def _real(value: Any) -> float:
    """fp8 values are exact in float64."""
    if value.kind == "nan":
        return float("nan")
    if value.kind == "infinite":
        return float("-inf") if value.negative else float("inf")
    return float(np.ldexp(float(value.integer), value.exponent))


def _check_relations(
    got: dict[str, Patterns], less: npt.ArrayLike, equal: npt.ArrayLike, *operands: Patterns
) -> None:
    agree("less", got["less"], np.asarray(less, np.uint64), *operands)
    agree("equal", got["equal"], np.asarray(equal, np.uint64), *operands)
    one = got["less"] + got["equal"] + got["greater"] + got["unordered"]
    agree("exactly one relation", one, np.ones_like(one), *operands)


@pytest.mark.parametrize("name", slow_but(["fp16"], LARGE))
def test_add_and_subtract_against_softfloat(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(1_000_000), seed=101)
    subtract = np.arange(len(a), dtype=np.uint64) & np.uint64(1)
    got = rtl(name)(a=a, b=b, subtract=subtract)["total"]
    effective = np.where(subtract == 1, negated(b, fmt), b)
    agree("add", got, softfloat.add(a, effective, fmt), a, effective)


@pytest.mark.parametrize("name", slow_but(["fp16"], LARGE))
def test_multiply_against_softfloat(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(1_000_000), seed=102)
    got = rtl(name)(a=a, b=b, subtract=np.zeros(a.shape))["product"]
    agree("multiply", got, softfloat.multiply(a, b, fmt), a, b)


@pytest.mark.parametrize("name", slow_but(["fp16"], LARGE))
def test_relations_against_softfloat(name: str) -> None:
    """Comparisons; minimum and maximum follow from them but for NaN and the order of zeros."""
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(1_000_000), seed=103)
    got = rtl(name)(a=a, b=b, subtract=np.zeros(a.shape))
    less, equal = softfloat.less(a, b, fmt), softfloat.equal(a, b, fmt)
    _check_relations(got, less, equal, a, b)
    unordered = ~(softfloat.equal(a, a, fmt) & softfloat.equal(b, b, fmt))
    agree("unordered", got["unordered"], unordered.astype(np.uint64), a, b)
    # Equal values are the same pattern, or the two zeros, of which the larger pattern is -0.
    smaller = np.where(equal, np.maximum(a, b), np.where(less, a, b))
    larger = np.where(equal, np.minimum(a, b), np.where(less, b, a))
    same = equal & (a == b)
    smaller, larger = np.where(same, a, smaller), np.where(same, a, larger)
    agree("minimum", got["minimum"], np.where(unordered, fmt.nan, smaller), a, b)
    agree("maximum", got["maximum"], np.where(unordered, fmt.nan, larger), a, b)


@pytest.mark.parametrize("name", slow_but(["fp32"], ["bf16", "fp32"]))
def test_results_against_exact_arithmetic(name: str) -> None:
    """Sums and products against integers of any size: the oracle of the oracle."""
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, 40_000, seed=104)
    got = rtl(name)(a=a, b=b, subtract=np.zeros(a.shape))
    rows = list(zip(a.tolist(), b.tolist(), strict=True))
    agree("add", got["total"], [exact_sum(x, y, fmt) for x, y in rows], a, b)
    agree("multiply", got["product"], [exact_product(x, y, fmt) for x, y in rows], a, b)


@pytest.mark.parametrize("name", slow_but(["fp16", "fp8e4m3"], [*SMALL, *LARGE]))
def test_models_agree_with_rtl(name: str) -> None:
    """The NumPy models give what the hardware gives, under stalls as well."""
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, 20_000, seed=105)
    got = rtl(name)(a=a, b=b, subtract=np.zeros(a.shape), pauses=Pauses(seed=1, gap=0.3, stall=0.3))
    agree("add", arith.add(a, b, fmt), got["total"], a, b)
    agree("multiply", arith.multiply(a, b, fmt), got["product"], a, b)
    agree("minimum", arith.minimum(a, b, fmt), got["minimum"], a, b)
    agree("maximum", arith.maximum(a, b, fmt), got["maximum"], a, b)
    relation = arith.compare(a, b, fmt)
    for field in ("less", "equal", "unordered"):
        agree(field, getattr(relation, field).astype(np.uint64), got[field], a, b)
