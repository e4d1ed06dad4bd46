"""The operators of the semirings: SoftFloat, ml_dtypes, NumPy's integers, exact arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS, FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.numbers.values import decode, encode, is_true
from tilewright.verif.kit.sampling import cases, operand_pairs
from tilewright.verif.oracles import softfloat
from tilewright.verif.oracles.semirings import rounded_difference, widened
from tilewright.verif.oracles.softfloat import decode as exact_value
from tilewright.verif.oracles.softfloat import order_key, round_exact

pytestmark = pytest.mark.quick

Array = npt.NDArray[Any]

FP8 = {"fp8e4m3": ml_dtypes.float8_e4m3fn, "fp8e5m2": ml_dtypes.float8_e5m2}
NARROW = {**FP8, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}
FP32 = FLOAT_FORMATS["fp32"]
INT8, INT32 = FORMATS["int8"], FORMATS["int32"]
ROUNDED = {"add": "minplus", "mul": "minmul"}
"""A semiring for each operator that rounds."""


def all_pairs(name: str) -> tuple[Array, Array]:
    """Every pair of patterns of a narrow format."""
    patterns = np.arange(1 << FORMATS[name].bits, dtype=np.uint64)
    left, right = np.meshgrid(patterns, patterns, indexing="ij")
    return left.ravel(), right.ravel()


@pytest.mark.parametrize("name", NARROW)
def test_every_narrow_pattern_has_the_librarys_value(name: str) -> None:
    patterns = np.arange(1 << FORMATS[name].bits, dtype=np.uint64)
    expected = narrow_values(patterns, name)
    assert np.array_equal(decode(patterns, FORMATS[name]), expected, equal_nan=True)


@pytest.mark.parametrize("name", NARROW)
def test_rounding_to_narrow_formats_is_the_librarys(name: str) -> None:
    """Rounds fp32 patterns of every kind: ties, subnormals, overflow, NaN."""
    fmt = FLOAT_FORMATS[name]
    raw, _ = operand_pairs(FP32, cases(100_000), 1)
    rng = np.random.default_rng(8)
    gap = 1 << (FP32.fraction_bits - fmt.fraction_bits)
    below = rng.integers(0, gap, len(raw), dtype=np.uint32)
    values = decode(np.arange(fmt.largest, dtype=np.uint64), fmt).astype(np.float32)
    between = (rng.choice(values, len(raw)).view(np.uint32) + below).view(np.float32)
    small = rng.uniform(-4, 4, len(raw)) * 2.0**fmt.emin
    # Halfway between neighbours, and one fp32 place below.
    ties = values[1:] / 2 + values[:-1] / 2
    wide = np.concatenate([
        raw.astype(np.uint32).view(np.float32), between, small.astype(np.float32),
        ties, np.nextafter(ties, np.float32(0)), -ties,
    ])  # fmt: skip
    with np.errstate(all="ignore"):
        narrow = wide.astype(NARROW[name]).view(f"u{fmt.container_bits // 8}").astype(np.uint64)
        exact = wide.astype(np.float64)
    expected = np.where(np.isnan(narrow_values(narrow, name)), np.uint64(fmt.nan), narrow)
    assert np.array_equal(encode(exact, fmt), expected)


def narrow_values(patterns: Array, name: str) -> Array:
    size = FORMATS[name].container_bits // 8
    # Signalling NaNs raise a flag in the conversion, which means nothing.
    with np.errstate(invalid="ignore"):
        values: Array = patterns.astype(f"u{size}").view(NARROW[name]).astype(np.float64)
    return values


@pytest.mark.parametrize("operator", ROUNDED)
@pytest.mark.parametrize("result", softfloat.FORMATS)
@pytest.mark.parametrize("element", softfloat.FORMATS)
def test_sums_and_products_are_softfloats(element: str, result: str, operator: str) -> None:
    """Computes in the result's format, which holds every operand."""
    fmt, wide = FLOAT_FORMATS[element], FLOAT_FORMATS[result]
    row = SEMIRINGS[ROUNDED[operator]]
    a, b = operand_pairs(fmt, cases(20_000), 2)
    if not wide.contains(fmt):
        message = f"`result` must hold every value of {element}, not {result}"
        with pytest.raises(ValueError, match=f"^{message}$"):
            product(row, a, b, fmt, wide)
        return
    x, y = encode(decode(a, fmt), wide), encode(decode(b, fmt), wide)
    compute = softfloat.add if operator == "add" else softfloat.multiply
    assert np.array_equal(product(row, a, b, fmt, wide), compute(x, y, wide))


@pytest.mark.parametrize("name", softfloat.FORMATS)
def test_min_and_max_order_as_softfloat_compares(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(20_000), 3)
    nan = np.isnan(decode(a, fmt)) | np.isnan(decode(b, fmt))
    less, equal = softfloat.less(a, b, fmt), softfloat.equal(a, b, fmt)
    # The zeros alone are equal and differ in pattern: the one with a sign is the smaller.
    a_first = less | (equal & (a > b))
    smaller = np.where(nan, np.uint64(fmt.nan), np.where(a_first, a, b))
    larger = np.where(nan, np.uint64(fmt.nan), np.where(a_first, b, a))
    for row, expected in ((SEMIRINGS["minmax"], smaller), (SEMIRINGS["maxmin"], larger)):
        assert np.array_equal(combine(row, a, b, fmt), expected)
    assert np.array_equal(product(SEMIRINGS["maxmin"], a, b, fmt, fmt), smaller)
    assert np.array_equal(product(SEMIRINGS["minmax"], a, b, fmt, fmt), larger)
    sums = combine(SEMIRINGS["mma"], a, b, fmt)
    assert np.array_equal(sums, softfloat.add(a, b, fmt))


@pytest.mark.parametrize("name", FP8)
def test_every_pair_of_fp8_values(name: str) -> None:
    """ml_dtypes' values in float64, where sums and products are exact, rounded by NumPy."""
    fmt = FLOAT_FORMATS[name]
    a, b = all_pairs(name)
    x, y = narrow_values(a, name), narrow_values(b, name)
    zeros = (x == 0) & (y == 0)
    minus = np.signbit(x) | np.signbit(y), np.signbit(x) & np.signbit(y)
    with np.errstate(all="ignore"):
        expected = {
            "minplus": x + y,
            "maxplus": x + y,
            "minmul": x * y,
            "maxmul": x * y,
            "maxmin": np.where(zeros, np.where(minus[0], -0.0, 0.0), np.minimum(x, y)),
            "minmax": np.where(zeros, np.where(minus[1], -0.0, 0.0), np.maximum(x, y)),
            "orand": ((x != 0) & (y != 0)).astype(np.float64),
        }
    for semiring, values in expected.items():
        with np.errstate(all="ignore"):
            words = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        words = np.where(np.isnan(values), np.uint64(FP32.nan), words)
        assert np.array_equal(product(SEMIRINGS[semiring], a, b, fmt, FP32), words), semiring


@pytest.mark.parametrize("name", ["fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64"])
def test_squared_differences_round_twice_and_no_more(name: str) -> None:
    """The difference to the operands' places, without bounds; its square to the result's."""
    fmt = FLOAT_FORMATS[name]
    result = FLOAT_FORMATS["fp64" if name == "fp64" else "fp32"]
    pairs = all_pairs(name) if name in FP8 else operand_pairs(fmt, 10_000, 4)
    pick = np.random.default_rng(5).permutation(len(pairs[0]))[: cases(len(pairs[0]))]
    a, b = pairs[0][pick], pairs[1][pick]
    squares = product(SEMIRINGS["addnorm"], a, b, fmt, result)
    for x, y, got in zip(a.tolist(), b.tolist(), squares.tolist(), strict=True):
        distance = exact_value(rounded_difference(x, y, fmt), widened(fmt))
        if distance.kind == "finite":
            expected = round_exact(distance.integer**2, 2 * distance.exponent, result)
        else:
            expected = result.nan if distance.kind == "nan" else result.infinity
        assert got == expected, f"{x:#x} - {y:#x}"


def test_every_pair_of_int8_values() -> None:
    """NumPy's own 64-bit arithmetic, which none of these overflows."""
    a, b = all_pairs("int8")
    x, y = (v.astype(np.uint8).view(np.int8).astype(np.int64) for v in (a, b))
    expected = {
        "mma": x * y,
        "minplus": np.where((x == 127) & (y == 127), 2**31 - 1, x + y),
        "maxplus": np.where((x == -128) & (y == -128), -(2**31), x + y),
        "minmul": np.where((x == 127) & (y == 127), 2**31 - 1, x * y),
        "maxmul": np.where((x == -128) & (y == 127), -(2**31), x * y),
        "minmax": np.where((x == 127) & (y == 127), 2**31 - 1, np.maximum(x, y)),
        "maxmin": np.where((x == -128) & (y == -128), -(2**31), np.minimum(x, y)),
        "orand": ((x != 0) & (y != 0)).astype(np.int64),
        "addnorm": (x - y) ** 2,
    }
    assert set(expected) == set(SEMIRINGS)
    for name, values in expected.items():
        words = values.astype(np.int32).view(np.uint32)
        assert np.array_equal(product(SEMIRINGS[name], a, b, INT8, INT32), words), name


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integer_sums_saturate_and_products_wrap(bits: int) -> None:
    """Operands and results of one width, ends of the range included, in Python's integers."""
    fmt = FORMATS[f"int{bits}"]
    size = 1 << bits
    rng = np.random.default_rng(6)
    ends = np.array([0, 1, 2, size // 2 - 2, size // 2 - 1, size // 2, size // 2 + 1, size - 1],
                    np.uint64)  # fmt: skip
    random = rng.integers(0, size - 1, 500, dtype=np.uint64, endpoint=True)
    left, right = np.meshgrid(np.concatenate([ends, random]), ends, indexing="ij")
    a, b = left.ravel(), right.ravel()
    signed = [[v - size if v >= size // 2 else v for v in column.tolist()] for column in (a, b)]
    pairs = list(zip(*signed, strict=True))
    top = size // 2 - 1
    sums = [top if x == y == top else min(max(x + y, ~top), top) for x, y in pairs]
    products = [top if x == y == top else x * y for x, y in pairs]
    for name, values in (("minplus", sums), ("minmul", products)):
        found = product(SEMIRINGS[name], a, b, fmt, fmt)
        assert found.tolist() == [value % size for value in values], name
    assert combine(SEMIRINGS["mma"], a, b, fmt).tolist() == [(x + y) % size for x, y in pairs]


@pytest.mark.parametrize("name", list(FORMATS))
def test_identities_and_padding_change_nothing(name: str) -> None:
    """A value combined with the identity is unchanged; the product of two padding values is the
    identity."""
    fmt = FORMATS[name]
    rng = np.random.default_rng(7)
    values = rng.integers(0, (1 << fmt.bits) - 1, 2000, dtype=np.uint64, endpoint=True)
    if isinstance(fmt, FloatFormat):
        values = values[~np.isnan(decode(values, fmt))]
    for row in SEMIRINGS.values():
        padding, identity = row.padding_in(fmt), row.identity_in(fmt)
        if padding is None or identity is None:
            assert name == "fp8e4m3"
            continue
        assert product(row, padding[0], padding[1], fmt, fmt) == identity, row.name
        combined = combine(row, identity, values, fmt)
        if row.plus == "or":
            assert np.array_equal(is_true(combined, fmt), is_true(values, fmt))
            continue
        # A sum with +0 is the same number; -0 becomes +0.
        zero = ~is_true(values, fmt) & (row.plus == "add")
        assert np.array_equal(combined, np.where(zero, np.uint64(0), values)), row.name


def test_minimum_prefers_the_negative_zero_and_keeps_nan() -> None:
    row = SEMIRINGS["minplus"]
    minus = 1 << 31
    assert combine(row, minus, 0, FP32) == minus
    assert combine(row, FP32.nan | minus | 5, FP32.infinity | minus, FP32) == FP32.nan
    assert order_key(minus, FP32) < order_key(0, FP32)
