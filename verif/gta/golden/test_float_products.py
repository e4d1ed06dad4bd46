"""Products of matrices of floats: SoftFloat, ml_dtypes and exact fractions, cases by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.verif.kit.sampling import by_size, cases
from tilewright.verif.oracles import stimuli
from tilewright.verif.oracles.values import decode, round_exact

from .float_matrices import FLOATS, float_matrices, result_format, softfloat_product

Array = npt.NDArray[Any]

FP32 = FLOAT_FORMATS["fp32"]
COUNT = by_size(20_000, 60_000, 1_000_000)


@pytest.mark.parametrize("format", FLOATS)
def test_against_softfloat(format: str) -> None:
    for turn, (a, b, c) in enumerate(float_matrices(format, COUNT, 51)):
        start = np.zeros_like(c) if turn % 5 == 4 else c
        found = pgemm(format, a, b) if turn % 5 == 4 else pgemm(format, a, b, c)
        wrong = np.argwhere(found != softfloat_product(format, a, b, start))
        assert not len(wrong), (turn, wrong[0].tolist())


def as_fraction(pattern: int) -> Fraction:
    """The value of an fp32 pattern that is finite."""
    value = decode(pattern, FP32)
    return Fraction(value.integer) * Fraction(2) ** value.exponent


def fused(a: float, b: float, c: int) -> int:
    """The fp32 pattern nearest to ``a * b + c``, c a finite pattern; a zero's sign as in IEEE."""
    exact = Fraction(a) * Fraction(b) + as_fraction(c)
    places = exact.denominator.bit_length() - 1
    assert exact.denominator == 1 << places
    negative_zero = c == 1 << 31 and math.copysign(1, a * b) < 0
    return round_exact(exact.numerator, -places, FP32, negative_zero)


def numbers(patterns: Array) -> Array:
    """The values of bf16 patterns."""
    with np.errstate(invalid="ignore"):
        return patterns.astype(np.uint16).view(ml_dtypes.bfloat16).astype(float)


def test_bf16_against_exact_fractions() -> None:
    """Compares finite results with exact fractions; SoftFloat checks the others."""
    checked = 0
    for a, b, c in float_matrices("bf16", cases(60_000), 52):
        x, y = numbers(a), numbers(b)
        found = pgemm("bf16", a, b, c)
        for m, n in np.ndindex(found.shape):
            total = int(c[m, n])
            for left, right in zip(x[m].tolist(), y[:, n].tolist(), strict=True):
                finite = math.isfinite(left) and math.isfinite(right)
                if not finite or total & 0x7FFFFFFF >= FP32.infinity:
                    break
                total = fused(left, right, total)
            else:
                checked += 1
                assert found[m, n] == total, (m, n, hex(total))
    assert checked > cases(60_000) // 3


ONE, MINUS_ZERO, INFINITY, NAN = 0x3F800000, 0x80000000, 0x7F800000, 0x7FC00000
TINY, LARGEST, HALF = 1, 0x7F7FFFFF, 0x3F000000


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        # Zeros: -0 of negative zeros alone; cancellation gives +0.
        ([MINUS_ZERO], [ONE], MINUS_ZERO, MINUS_ZERO),
        ([MINUS_ZERO], [ONE], 0, 0),
        ([0], [ONE], MINUS_ZERO, 0),
        ([ONE], [ONE], ONE | MINUS_ZERO, 0),
        ([ONE, ONE], [ONE, ONE | MINUS_ZERO], MINUS_ZERO, 0),
        # Infinities and NaN, of any payload and sign.
        ([INFINITY], [0], 0, NAN),
        ([MINUS_ZERO], [INFINITY], ONE, NAN),
        ([INFINITY], [ONE], INFINITY | MINUS_ZERO, NAN),
        ([INFINITY], [ONE | MINUS_ZERO], ONE, INFINITY | MINUS_ZERO),
        ([INFINITY, INFINITY], [ONE, ONE | MINUS_ZERO], 0, NAN),
        ([0xFF812345], [ONE], 0, NAN),
        ([ONE], [ONE], 0xFFC00001, NAN),
        ([INFINITY, 0x7F800001], [0, 0], 0, NAN),
        # Over the largest value, and back: infinity stays.
        ([LARGEST, LARGEST], [0x40000000, 0xC0000000], 0, INFINITY),
        ([LARGEST], [0x40000000], LARGEST | MINUS_ZERO, LARGEST),
        # Subnormals: halves of the smallest, ties to even; a step off the smallest normal value.
        ([TINY], [HALF], 0, 0),
        ([TINY], [HALF], TINY, 2),
        ([TINY], [HALF | MINUS_ZERO], 0, MINUS_ZERO),
        ([0x00800000], [HALF], TINY, 0x00400001),
        ([0x00800000], [ONE], TINY | MINUS_ZERO, 0x007FFFFF),
        # 1 + 2**-23 + 2**-24 - 2**-70 is below the middle, which float64 takes it for.
        ([0x3F800001], [0x337FFFFE], 0x3F800001, 0x3F800001),
        # Ascending: 2**24 swallows ones that come after it, not those before.
        ([0x4B800000, ONE, ONE], [ONE, ONE, ONE], 0, 0x4B800000),
        ([ONE, ONE, 0x4B800000], [ONE, ONE, ONE], 0, 0x4B800001),
    ],
)
def test_fp32_by_hand(a: list[int], b: list[int], c: int, expected: int) -> None:
    found = pgemm("fp32", [a], [[word] for word in b], [[c]])
    assert found.tolist() == [[expected]]


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        # The product's last place is 104 below its first: 1 + 2**-52 squared, less 1 + 2**-51.
        (0x3FF0000000000001, 0x3FF0000000000001, 0xBFF0000000000002, 0x3970000000000000),
        # Smaller still beside a tie, above and below it.
        (0x3CA0000000000000, 0x3FF0000000000001, 0x3FF0000000000000, 0x3FF0000000000001),
        (0x3CA0000000000000, 0x3FF0000000000000, 0x3FF0000000000000, 0x3FF0000000000000),
        (0x3CA0000000000000, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x3FF0000000000001),
        # A product far below the smallest value.
        (1, 1, 0x3FF0000000000000, 0x3FF0000000000000),
        (1, 1, 0, 0),
        (1, 1 << 63 | 1, 0, 1 << 63),
        # Subnormals, the largest value, and a cancellation of the largest.
        (1, 0x4330000000000000, 0, 0x0010000000000000),
        (0x7FEFFFFFFFFFFFFF, 0x4000000000000000, 0xFFEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF),
        (0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000),
        (0x7FF0000000000000, 0, 0, 0x7FF8000000000000),
    ],
)
def test_fp64_by_hand(a: int, b: int, c: int, expected: int) -> None:
    assert pgemm("fp64", [[a]], [[b]], [[c]]).tolist() == [[expected]]


@pytest.mark.parametrize("format", FLOATS)
def test_segments_follow_each_other(format: str) -> None:
    """Each takes up the sums of the one before, wherever the depth is cut."""
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(53)
    a = stimuli.values(rng, "moderate", (5, 40), fmt)
    b = stimuli.values(rng, "moderate", (40, 6), fmt)
    c = stimuli.values(rng, "moderate", (5, 6), result_format(format))
    whole = pgemm(format, a, b, c)
    for cut in (1, 20, 39):
        first = pgemm(format, a[:, :cut], b[:cut], c)
        assert np.array_equal(pgemm(format, a[:, cut:], b[cut:], first), whole)


@pytest.mark.parametrize("format", ["fp32", "fp64"])
@pytest.mark.parametrize("shape", [(3, 1 << 14), (1 << 14, 3), (130, 130)])
def test_products_larger_than_a_block(format: str, shape: tuple[int, int]) -> None:
    """Elements at the ends of blocks are those of products of their row and column alone."""
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(54)
    a = stimuli.values(rng, "moderate", (shape[0], 2), fmt)
    b = stimuli.values(rng, "moderate", (2, shape[1] + 1), fmt)
    c = stimuli.values(rng, "moderate", (shape[0], shape[1] + 1), fmt)
    whole = pgemm(format, a, b, c)
    for m in {0, shape[0] // 2, 125, 126, shape[0] - 1} & set(range(shape[0])):
        alone = softfloat_product(format, a[m : m + 1], b, c[m : m + 1])
        assert np.array_equal(whole[m : m + 1], alone)
    last = softfloat_product(format, a, b[:, -1:], c[:, -1:])
    assert np.array_equal(whole[:, -1:], last)
