"""Reductions of vectors: Python's integers, SoftFloat and ml_dtypes, one addition at a time."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA, is_float
from tilewright.sim.gta.golden.moves import select, slide_down, slide_up
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.sim.gta.golden.vector import REDUCTIONS, elementwise, reduce
from tilewright.verif.kit.sampling import by_size, cases
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.softfloat import decode, round_exact

from .references import FLOATS, float_matrices, result_format, signed, softfloat_product, wrapped

Array = npt.NDArray[Any]

INTEGERS = tuple(name for name in FORMATS_OF_GTA if not is_float(name))


@pytest.mark.parametrize("format", INTEGERS)
def test_integers(format: str) -> None:
    bits = FORMATS[format].bits
    rng = np.random.default_rng(81)
    a = rng.integers(0, (1 << bits) - 1, (cases(4000), 37), dtype=np.uint64, endpoint=True)
    start = rng.integers(0, (1 << bits) - 1, len(a), dtype=np.uint64, endpoint=True)
    whole = np.column_stack([signed(start, bits), signed(a, bits)])
    assert np.array_equal(reduce("sum", format, a, start), wrapped(whole.sum(axis=1), bits))
    assert np.array_equal(reduce("min", format, a, start), wrapped(whole.min(axis=1), bits))
    assert np.array_equal(reduce("max", format, a, start), wrapped(whole.max(axis=1), bits))
    assert np.array_equal(reduce("max", format, a), wrapped(whole[:, 1:].max(axis=1), bits))


@pytest.mark.parametrize("format", FLOATS)
def test_sums_of_floats_ascend(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(82)
    shape = cases(4000), 33
    a = np.concatenate([stimuli.values(rng, kind, shape, fmt) for kind in stimuli.VALUE_KINDS])
    start = rng.permutation(a[:, 0])
    total = start
    for k in range(a.shape[1]):
        total = softfloat.add(total, a[:, k], fmt)
    assert np.array_equal(reduce("sum", format, a, start), total)


@pytest.mark.parametrize("format", FLOATS)
def test_long_sums_of_floats_ascend(format: str) -> None:
    """Adds numbers of one sign and magnitude, for which the order matters most."""
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(83)
    near_one = np.uint64(fmt.one) - rng.integers(0, 1 << 6, 3000, dtype=np.uint64)
    total = np.zeros(1, np.uint64)
    for k in range(len(near_one)):
        total = softfloat.add(total, near_one[k : k + 1], fmt)
    assert reduce("sum", format, near_one) == total[0]


def test_bf16_sums_round_at_each_step() -> None:
    """Rounds after each addition as ml_dtypes does; a sum of ones stops at 256."""
    ones = np.full(300, FLOAT_FORMATS["bf16"].one, np.uint64)
    total = ml_dtypes.bfloat16(0)
    for _ in ones:
        total = total + ml_dtypes.bfloat16(1)
    assert reduce("sum", "bf16", ones) == np.asarray(total).view(np.uint16)
    assert float(total) == 256


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_are_those_of_pairs(format: str, operation: str) -> None:
    """Compares with the element-wise operation, which is checked against exact arithmetic."""
    fmt = FLOAT_FORMATS[format]
    rng, shape = np.random.default_rng(84), (cases(2000), 5)
    kinds = ("bits", "special", "uniform")
    a = np.concatenate([stimuli.values(rng, kind, shape, fmt) for kind in kinds])
    chosen = a[:, 0]
    for k in range(1, a.shape[1]):
        chosen = elementwise(operation, format, chosen, a[:, k])
    assert np.array_equal(reduce(operation, format, a), chosen)


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_of_no_elements_the_start_is_left(format: str, operation: str) -> None:
    start = FORMATS[format].constant(REDUCTIONS[operation])
    assert reduce(operation, format, np.zeros((2, 0), np.uint64)).tolist() == [start] * 2
    assert reduce(operation, format, np.zeros(0, np.uint64)).tolist() == start
    assert reduce(operation, format, np.zeros(0, np.uint64), 1).tolist() == 1


@pytest.mark.parametrize("format", FLOATS)
def test_zeros_and_nan(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    minus = 1 << (fmt.bits - 1)
    assert reduce("sum", format, [minus, minus]).tolist() == 0
    assert reduce("sum", format, [minus, minus], minus).tolist() == minus
    assert reduce("max", format, [minus, minus]).tolist() == minus
    assert reduce("max", format, [minus, 0]).tolist() == 0
    assert reduce("min", format, [0, minus]).tolist() == minus
    payload = fmt.infinity | minus | 1
    for operation in REDUCTIONS:
        assert reduce(operation, format, [0, payload, fmt.one]).tolist() == fmt.nan
    assert reduce("sum", format, [fmt.infinity, fmt.infinity | minus]).tolist() == fmt.nan
    assert reduce("sum", format, [fmt.largest, fmt.largest, fmt.one]).tolist() == fmt.infinity


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mean", "int8", [0]), "`operation` must be one of sum, min, max, not 'mean'"),
        (("sum", "fp8", [0]), "`format` must be one of int8, int16, int32, int64, bf16, fp16, "
         "fp32, fp64, not 'fp8'"),
        (("sum", "int8", [[0], [1]], 0), "`start` must have shape (2,), not ()"),
        (("sum", "int8", [300]), "words must be of 8 bits, not 300"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        reduce(*arguments)


# Elements that are chosen and moved, against Python's lists.


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_slides(format: str) -> None:
    """Slides patterns by no place, by some, by all and by more."""
    rng = np.random.default_rng(91)
    top = (1 << FORMATS[format].bits) - 1
    for length in (1, 2, 17):
        a = rng.integers(0, top, length, dtype=np.uint64, endpoint=True)
        fill = int(rng.integers(0, top, dtype=np.uint64, endpoint=True))
        for places in {0, 1, length - 1, length, length + 3}:
            filled = [fill] * places
            up = (filled + a.tolist())[:length]
            assert slide_up(format, a, places, fill).tolist() == up
            down = (a.tolist() + filled)[places:]
            assert slide_down(format, a, places, fill).tolist() == down


def test_slides_along_the_last_axis() -> None:
    a = np.arange(1, 7, dtype=np.uint64).reshape(2, 3)
    assert slide_up("int8", a, 1).tolist() == [[0, 1, 2], [0, 4, 5]]
    assert slide_down("int8", a, 2, 9).tolist() == [[3, 9, 9], [6, 9, 9]]
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_select(format: str) -> None:
    """Bits stay, those of a NaN too; any mask but 0 counts."""
    top = (1 << FORMATS[format].bits) - 1
    a, b = np.array([1, top, 2, top - 1], np.uint64), np.array([top, 5, 6, 7], np.uint64)
    assert select(format, [1, 0, top, 0], a, b).tolist() == [1, 5, 2, 7]
    assert select(format, 0, a, b).tolist() == b.tolist()
    assert select(format, 1, a, 3).tolist() == a.tolist()


def test_moves_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^`places` must be at least 0, not -1$"):
        slide_up("int8", [1], -1)
    with pytest.raises(ValueError, match=r"^words must be of 16 bits, not 65536$"):
        slide_down("fp16", [1], 1, 1 << 16)
    with pytest.raises(ValueError, match=r"^words must be of 8 bits, not -1$"):
        select("int8", 1, [-1], [0])


# Products of matrices of floats: SoftFloat, ml_dtypes and exact fractions, cases by hand.

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
