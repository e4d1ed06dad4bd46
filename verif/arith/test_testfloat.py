"""Scalar arithmetic in RTL over TestFloat's operands of level 1, every format.

Expected results are SoftFloat's for fp16, fp32 and fp64, and exact rationals rounded once for the
others and for all conversions. Conventions: round to nearest even; every NaN result is the
canonical one (``softfloat`` maps SoftFloat's NaN to it); there are no exception flags to compare.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.convert import FloatConvert
from tilewright.hw.arith.multiply_add import FloatMultiplyAdd
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.verif.arith.arithmetic import RtlFunction, ScalarOperations, agree
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.oracles import softfloat, testfloat
from tilewright.verif.oracles.dot_product import exact_terms
from tilewright.verif.oracles.softfloat import decode, order_key, round_exact

SEED = 1101
NATIVE = ("fp16", "fp32", "fp64")
EVERY_FORMAT = slow_but(["fp16"], FLOAT_FORMATS)

Patterns = npt.NDArray[np.uint64]


class Operations(wiring.Component):
    """Computes all of ``ScalarOperations``, ``a * b + c``, and a in every other format."""

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        self._scalars = ScalarOperations(format)
        self._results = [other for other in FLOAT_FORMATS.values() if other is not format]
        super().__init__(
            {
                **self._scalars.signature.members,
                "c": In(format.bits),
                "fused": Out(format.bits),
                **{f"as_{other.name}": Out(other.bits) for other in self._results},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scalars = scalars = self._scalars
        m.submodules.multiply_add = multiply_add = FloatMultiplyAdd(self._format)
        for name, member in scalars.signature.members.items():
            ours, theirs = getattr(self, name), getattr(scalars, name)
            m.d.comb += theirs.eq(ours) if member.flow is In else ours.eq(theirs)
        m.d.comb += [getattr(multiply_add, name).eq(getattr(self, name)) for name in "abc"]
        m.d.comb += self.fused.eq(multiply_add.o)
        for other in self._results:
            m.submodules[f"convert_{other.name}"] = convert = FloatConvert(self._format, other)
            m.d.comb += [convert.i.eq(self.a), getattr(self, f"as_{other.name}").eq(convert.o)]
        return m


@cache
def rtl(name: str) -> RtlFunction:
    return RtlFunction(Operations(FLOAT_FORMATS[name]), f"testfloat_{name}")


def run(
    fmt: FloatFormat, a: Patterns, b: Patterns | int = 0, c: Patterns | int = 0, subtract: int = 0
) -> dict[str, Patterns]:
    b, c, subtract_all = (np.full(a.shape, value, np.uint64) for value in (b, c, subtract))
    return rtl(fmt.name)(a=a, b=b, c=c, subtract=subtract_all)


@lru_cache(maxsize=1 << 16)
def _fused(a: int, b: int, c: int, fmt: FloatFormat) -> int:
    terms = exact_terms([a], [b], c, fmt, fmt)
    if terms.special is not None:
        return terms.special
    return round_exact(terms.sum, terms.unit, fmt, terms.negative_zeros)


def exact_multiply_add(a: Patterns, b: Patterns, c: Patterns, fmt: FloatFormat) -> Patterns:
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    return np.array([_fused(*row, fmt) for row in rows], np.uint64)


def fused(a: Patterns, b: Patterns, c: Patterns, fmt: FloatFormat) -> Patterns:
    if fmt.name in NATIVE:
        return softfloat.multiply_add(a, b, c, fmt)
    return exact_multiply_add(a, b, c, fmt)


def relation(a: int, b: int, fmt: FloatFormat) -> tuple[bool, bool, bool]:
    """Returns whether a is less than b, whether both are equal, and whether they are unordered."""
    if "nan" in (decode(a, fmt).kind, decode(b, fmt).kind):
        return False, False, True
    zeros = not (a | b) & (1 << (fmt.bits - 1)) - 1
    return not zeros and order_key(a, fmt) < order_key(b, fmt), zeros or a == b, False


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_multiply_add(name: str) -> None:
    """All 6,133,248 triples at length; by default 12 of the 576 of each combination of exponents
    and signs, 2.1 %, with every kind of case as often as any other."""
    fmt = FLOAT_FORMATS[name]
    a, b, c = testfloat.triples(fmt, SEED, each=by_size(9, 12, None))
    piece = 1 << 19
    for first in range(0, len(a), piece):
        x, y, z = (operand[first : first + piece] for operand in (a, b, c))
        agree("multiply_add", run(fmt, x, y, z)["fused"], fused(x, y, z, fmt), x, y, z)


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_sums_and_products(name: str) -> None:
    """All 46,464 pairs. A sum is a product with one and an addend, a product has a zero of the
    product's sign for an addend: exact as one operation."""
    fmt = FLOAT_FORMATS[name]
    a, b = testfloat.pairs(fmt, SEED)
    sign = np.uint64(1 << (fmt.bits - 1))
    got, difference = run(fmt, a, b), run(fmt, a, b, subtract=1)["total"]
    if name in NATIVE:
        sums, products = softfloat.add(a, b, fmt), softfloat.multiply(a, b, fmt)
        differences = softfloat.add(a, b ^ sign, fmt)
    else:
        one = np.full_like(a, fmt.one)
        sums = exact_multiply_add(a, one, b, fmt)
        differences = exact_multiply_add(a, one, b ^ sign, fmt)
        products = exact_multiply_add(a, b, (a ^ b) & sign, fmt)
    agree("add", got["total"], sums, a, b)
    agree("subtract", difference, differences, a, b)
    agree("multiply", got["product"], products, a, b)


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_comparisons(name: str) -> None:
    """All 46,464 pairs; SoftFloat decides for its own formats, the order of values for others."""
    fmt = FLOAT_FORMATS[name]
    a, b = testfloat.pairs(fmt, SEED + 1)
    got = run(fmt, a, b)
    rows = [relation(x, y, fmt) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    less, equal, unordered = np.array(rows, np.bool_).T
    if name in NATIVE:
        less, equal = softfloat.less(a, b, fmt), softfloat.equal(a, b, fmt)
        unordered = ~(softfloat.equal(a, a, fmt) & softfloat.equal(b, b, fmt))
    agree("less", got["less"], less, a, b)
    agree("equal", got["equal"], equal, a, b)
    agree("unordered", got["unordered"], unordered, a, b)
    agree("greater", got["greater"], ~(less | equal | unordered), a, b)


@pytest.mark.parametrize("name", EVERY_FORMAT)
def test_conversions(name: str) -> None:
    """Every operand to every other format, against its exact value rounded once."""
    fmt = FLOAT_FORMATS[name]
    a = testfloat.singles(fmt, SEED)
    got = run(fmt, a)
    for other in FLOAT_FORMATS.values():
        if other is not fmt:
            expected = [converted(pattern, fmt, other) for pattern in a.tolist()]
            agree(f"to {other.name}", got[f"as_{other.name}"], expected, a)


def converted(pattern: int, fmt: FloatFormat, other: FloatFormat) -> int:
    value = decode(pattern, fmt)
    if value.kind == "finite":
        return round_exact(value.integer, value.exponent, other, value.negative)
    if value.kind == "nan" or not other.has_infinity:
        return other.nan
    return other.infinity | int(value.negative) << (other.bits - 1)


@pytest.mark.parametrize("name", ["fp16", "fp64"])
def test_operands_are_testfloats(name: str) -> None:
    """Figures of the sets: values, pairs, triples; a sample has each kind of case equally often."""
    fmt = FLOAT_FORMATS[name]
    assert len(testfloat.grid(fmt)) == len(set(testfloat.grid(fmt).tolist())) == 88
    assert (testfloat.PAIRS, testfloat.TRIPLES) == (46_464, 6_133_248)
    assert len(testfloat.pairs(fmt, SEED)[0]) == testfloat.PAIRS
    a, b, c = testfloat.triples(fmt, SEED, each=9)
    on_grid = [np.isin(operand, testfloat.grid(fmt)) for operand in (a, b, c)]
    # One case in nine has all three operands on the grid; others get there by chance.
    assert np.logical_and.reduce(on_grid).sum() >= len(a) // 9
    for operand in on_grid:
        assert operand.sum() >= len(a) * 4 // 9
    with pytest.raises(ValueError, match=r"^`each` must be in 9\.\.576, not 8$"):
        testfloat.triples(fmt, SEED, each=8)
