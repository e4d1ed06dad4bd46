"""The parts of the arithmetic, each by itself: unpack, align, maximum, sum, round, convert."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.compare import MinimumColumn, UnsignedCompare
from tilewright.hw.arith.convert import FloatConvert
from tilewright.hw.arith.fused.aligned_sum import Align, AlignedSum
from tilewright.hw.arith.fused.sum_stages import ExponentMaximum
from tilewright.hw.arith.round import NormaliseSum, RoundPack
from tilewright.hw.arith.unpack import Unpack
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.verif.arith.arithmetic import RtlFunction
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles.softfloat import decode, round_exact

Patterns = npt.NDArray[np.uint64]

NUMPY_TYPES: dict[str, npt.DTypeLike] = {
    "fp8e4m3": ml_dtypes.float8_e4m3fn,
    "fp8e5m2": ml_dtypes.float8_e5m2,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
}


def patterns(fmt: FloatFormat) -> Patterns:
    """Every pattern of a narrow format; directed and random ones of a wide one."""
    if fmt.bits <= 16:
        return np.arange(1 << fmt.bits, dtype=np.uint64)
    return operand_pairs(fmt, cases(1_000_000), seed=1)[0]


def reals(bits: Patterns, fmt: FloatFormat) -> npt.NDArray[np.float64]:
    """The values, by NumPy's own types; exact in float64."""
    words = bits.astype(f"u{fmt.container_bits // 8}")
    with np.errstate(invalid="ignore"):
        return words.view(NUMPY_TYPES[fmt.name]).astype(np.float64)


def signed_field(values: Patterns, bits: int) -> npt.NDArray[np.int64]:
    return (values.astype(np.int64) ^ (1 << (bits - 1))) - (1 << (bits - 1))


@pytest.mark.parametrize("normalise", slow_but([True], [True, False]))
@pytest.mark.parametrize("name", slow_but(["fp32"], NUMPY_TYPES, ["fp8e4m3"]))
def test_unpack(name: str, normalise: bool) -> None:
    fmt = FLOAT_FORMATS[name]
    component = Unpack(fmt, normalise=normalise)
    layout = component.o.shape()
    bits = patterns(fmt)
    packed = RtlFunction(component, f"unpack_{name}_{normalise}")(i=bits)["o"]
    field = {
        key: (packed >> np.uint64(part.offset)) & np.uint64((1 << part.width) - 1)
        for key, part in layout
    }
    want = reals(bits, fmt)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(field["nan"], np.isnan(want))
    np.testing.assert_array_equal(field["infinite"], np.isinf(want))
    np.testing.assert_array_equal(field["zero"], want == 0)
    np.testing.assert_array_equal(field["sign"], bits >> np.uint64(fmt.bits - 1))
    exponent = signed_field(field["exponent"], layout["exponent"].width)
    magnitude = np.ldexp(field["significand"].astype(np.float64), exponent - fmt.fraction_bits)
    np.testing.assert_array_equal(magnitude[finite], np.abs(want[finite]))
    nonzero = finite & (want != 0)
    leading = field["significand"][nonzero] >> np.uint64(fmt.fraction_bits)
    if normalise:
        assert leading.all()
    else:
        assert (exponent[nonzero] >= fmt.emin).all()
        np.testing.assert_array_equal(leading == 0, np.abs(want[nonzero]) < 2.0**fmt.emin)


@pytest.mark.parametrize(
    ("width", "window", "distance"),
    [(5, 7, 4), pytest.param(5, 4, 3, marks=pytest.mark.slow), (24, 58, 10)],
)
def test_align(width: int, window: int, distance: int) -> None:
    if width + distance < 12:
        grid = np.meshgrid(np.arange(1 << width), np.arange(1 << distance))
        significand, moves = (axis.ravel() for axis in grid)
    else:
        rng = np.random.default_rng(2)
        significand = rng.integers(0, 1 << width, 20_000)
        moves = rng.integers(0, 1 << distance, 20_000) >> rng.integers(0, 5, 20_000)
    function = RtlFunction(Align(width, window, distance), f"align_{width}_{window}")
    got = function(significand=significand, distance=moves)
    for value, move, aligned, lost in zip(
        significand.tolist(), moves.tolist(), got["window"], got["lost"], strict=True
    ):
        shifted = (value << window) >> width  # the top of the window
        exact = value << window
        assert int(aligned) == shifted >> move, (value, move)
        assert bool(lost) == ((int(aligned) << (width + move)) != exact), (value, move)


@pytest.mark.parametrize(("count", "bits"), [pytest.param(3, 3, marks=pytest.mark.slow), (9, 10)])
def test_exponent_maximum(count: int, bits: int) -> None:
    rng = np.random.default_rng(3)
    if count * bits < 12:
        rows = np.array(list(product(range(1 << bits), repeat=count)))
        exponents = np.repeat(rows, 1 << count, axis=0)
        ignore = np.tile(np.arange(1 << count), len(rows))
    else:
        exponents = rng.integers(0, 1 << bits, (20_000, count))
        ignore = rng.integers(0, 1 << count, 20_000) & rng.integers(0, 1 << count, 20_000)
    function = RtlFunction(ExponentMaximum(count, bits), f"maximum_{count}")
    got = function(exponents=exponents, ignore=ignore)["maximum"]
    values = signed_field(exponents.astype(np.uint64), bits)
    lowest = -(1 << (bits - 1))
    counted = np.where((ignore[:, None] >> np.arange(count)) & 1, lowest, values)
    np.testing.assert_array_equal(signed_field(got, bits), counted.max(axis=1))


@pytest.mark.parametrize("products", slow_but([3], [1, 3, 4, 8], [8]))
def test_aligned_sum(products: int) -> None:
    """Rows and carry add up to the exact sum of the truncated terms, in Python integers."""
    component = AlignedSum(
        products=products, product_bits=10, addend_bits=7, alignment_bits=20, distance_bits=6
    )
    rng = np.random.default_rng(products)
    n = 5_000
    significands = rng.integers(0, 1 << 10, (n, products))
    distances = rng.integers(0, 40, (n, products))
    negative, addend = rng.integers(0, 1 << products, n), rng.integers(0, 1 << 7, n)
    addend_distance = rng.integers(0, 40, n)
    got = RtlFunction(component, f"aligned_sum_{products}")(
        significands=significands,
        distances=distances,
        negative=negative,
        addend=addend,
        addend_distance=addend_distance,
    )
    modulus = 1 << component.sum_bits
    for i in range(n):
        # The window's top bit weighs 2**21 units; a product starts there, the addend one below.
        terms = [(int(addend[i]) << 21 - 7, int(addend_distance[i]), 1)]
        for k in range(products):
            sign = -1 if negative[i] >> k & 1 else 1
            terms.append((int(significands[i, k]) << 22 - 10, int(distances[i, k]), sign))
        total = sum(sign * (value >> distance) for value, distance, sign in terms)
        lost = {sign for value, distance, sign in terms if value & ((1 << distance) - 1)}
        rows = int(got["rows"][i, 0]) + int(got["rows"][i, 1]) + int(got["carry"][i])
        assert rows % modulus == total % modulus
        assert (bool(got["lost_positive"][i]), bool(got["lost_negative"][i])) == (
            1 in lost,
            -1 in lost,
        )


class RoundedTotal(wiring.Component):
    """A total, normalised, rounded and packed."""

    def __init__(self, fmt: FloatFormat, sum_bits: int, limit_bits: int) -> None:
        self._format, self._sum_bits, self._limit_bits = fmt, sum_bits, limit_bits
        super().__init__(
            {
                "total": In(signed(sum_bits)),
                "limit": In(signed(limit_bits)),
                "flip": In(1),
                "lost_positive": In(1),
                "lost_negative": In(1),
                "negative_zero": In(1),
                "o": Out(fmt.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.normalise = normalise = NormaliseSum(
            self._format, sum_bits=self._sum_bits, limit_bits=self._limit_bits
        )
        m.submodules.round = rounder = RoundPack(self._format)
        for name in ("total", "limit", "flip", "lost_positive", "lost_negative", "negative_zero"):
            m.d.comb += getattr(normalise, name).eq(getattr(self, name))
        m.d.comb += [rounder.i.eq(normalise.o), self.o.eq(rounder.o)]
        return m


SMALL_TOTALS = [("fp8e4m3", 8), ("fp8e5m2", 8), ("fp8e4m3", 5), ("fp8e5m2", 6)]


@pytest.mark.parametrize(
    "case", slow_but(SMALL_TOTALS[-1:], SMALL_TOTALS, SMALL_TOTALS[:1]), ids=str
)
def test_every_small_total_rounds_right(case: tuple[str, int]) -> None:
    """All totals at all places of the exponent range, with all that was lost.

    (With 5 and 6 bits the normaliser is 8 bits wide, a power of two, and -1 moves by all 8.)
    """
    name, sum_bits = case
    fmt, limit_bits = FLOAT_FORMATS[name], 7
    rows = np.array(
        [
            (total, limit, flip, lost)
            for total in range(1 << sum_bits)
            if total != 1 << (sum_bits - 1)  # no total is that negative
            for limit in range(1 << limit_bits)
            for flip in range(2)
            for lost in range(4)
        ]
    )
    total, limit, flip, lost = rows.T
    got = RtlFunction(RoundedTotal(fmt, sum_bits, limit_bits), f"rounded_{name}_{sum_bits}")(
        total=total,
        limit=limit,
        flip=flip,
        lost_positive=lost & 1,
        lost_negative=lost >> 1,
        negative_zero=np.zeros_like(total),
    )["o"]
    values = signed_field(total.astype(np.uint64), sum_bits).tolist()
    limits = signed_field(limit.astype(np.uint64), limit_bits).tolist()
    for i, (value, place) in enumerate(zip(values, limits, strict=True)):
        # With limit 0 the top magnitude bit weighs 2**(emin - significand_bits).
        unit = place + fmt.emin - fmt.significand_bits - (sum_bits - 2)
        tiny = int(lost[i] & 1) - int(lost[i] >> 1)
        sign = -1 if flip[i] else 1
        if value == 0:
            want = 1 << (fmt.bits - 1) if tiny * sign < 0 else 0
        else:
            exact = sign * ((value << 64) + tiny)
            want = round_exact(exact, unit - 64, fmt, False)
        assert int(got[i]) == want, (value, place, tiny, sign)


CONVERSIONS = [
    ("fp16", "fp32"),
    ("bf16", "fp16"),
    ("fp8e4m3", "fp16"),
    ("fp8e5m2", "fp8e4m3"),
    ("fp32", "fp16"),
    ("fp32", "bf16"),
]


@pytest.mark.parametrize(
    "formats", slow_but([("fp32", "fp16")], CONVERSIONS, CONVERSIONS[2:4]), ids="_to_".join
)
def test_convert_against_numpy(formats: tuple[str, str]) -> None:
    """All patterns of a narrow source, a million of fp32, by NumPy's and ml_dtypes' conversion."""
    source, result = formats
    from_format, to_format = FLOAT_FORMATS[source], FLOAT_FORMATS[result]
    bits = patterns(from_format)
    got = RtlFunction(FloatConvert(from_format, to_format), f"{source}_to_{result}")(i=bits)["o"]
    with np.errstate(all="ignore"):
        exact = bits.astype(f"u{from_format.container_bits // 8}").view(NUMPY_TYPES[source])
        converted = exact.astype(np.float32).astype(NUMPY_TYPES[result])
        want = converted.view(f"u{to_format.container_bits // 8}").astype(np.uint64)
        want[np.isnan(converted.astype(np.float32))] = to_format.nan
    np.testing.assert_array_equal(got, want)


def test_the_oracle_agrees_with_numpy_on_fp8() -> None:
    """Checks the decoding of every fp8 pattern, on which these tests rely."""
    for name in ("fp8e4m3", "fp8e5m2"):
        fmt = FLOAT_FORMATS[name]
        for pattern, real in enumerate(reals(patterns(fmt), fmt)):
            value = decode(pattern, fmt)
            if value.kind == "finite":
                assert value.integer * 2.0**value.exponent == real
            else:
                assert (value.kind == "nan") == bool(np.isnan(real))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_unsigned_compare(width: int) -> None:
    """Compares all pairs of values."""
    a, b = (x.ravel() for x in np.meshgrid(*2 * [np.arange(1 << width, dtype=np.uint64)]))
    found = RtlFunction(UnsignedCompare(width), f"unsigned_compare_{width}")(a=a, b=b)
    assert np.array_equal(found["less"], a < b)
    assert np.array_equal(found["at_most"], a <= b)


def test_minimum_column() -> None:
    """Finds the smallest column among those that count, often several times."""
    rng = np.random.default_rng(8)
    count, bits, size = 5, 3, cases(10_000)
    columns = rng.integers(0, 1 << bits, (size, count)).astype(np.uint64)
    present = rng.integers(0, 2, (size, count)).astype(bool)
    least = np.where(present, columns, 1 << bits).min(axis=1)
    chosen = present & (columns == least[:, None])
    places = np.arange(count, dtype=np.uint64)
    found = RtlFunction(MinimumColumn(count, bits), "minimum_column")(
        columns=columns,
        present=(present << places).sum(axis=1, dtype=np.uint64),
    )
    wanted = (chosen << places).sum(axis=1, dtype=np.uint64)
    assert np.array_equal(found["chosen"], wanted)
    assert np.array_equal(found["popped"], wanted)
    assert np.array_equal(found["column"], np.where(present.any(axis=1), least, 0))
