"""The fused dot product in RTL: every clause of the numerics page, against exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.fused.aligned_sum import AlignedSum, SpecialCases, head_bits
from tilewright.hw.arith.fused.sum_stages import ExponentMaximum
from tilewright.hw.arith.round import NormaliseSum, RoundPack, exponent_limit
from tilewright.hw.arith.unpack import Unpack
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.sim.numbers.fused import fused_dot_product
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.arith.arithmetic import RtlFunction
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.dot_product import check_dot_products


class FusedDotProduct(wiring.Component):
    """``o = RNE(c + sum(a[k] * b[k]))``, rounded once, independent of the order of the terms.

    Combinational. Exact while every term fits the window of ``alignment_bits`` below the
    largest one; a single product gives the correctly rounded fused multiply-add.

    Parameters
    ----------
    operand: format of a and b
    result: format of c and of the result
    products: number of products
    alignment_bits: accumulation window below the exponent of the largest term; at least the
        widths of a product and of c plus two

    Members
    -------
    a, b: arrays of operands
    c: the addend
    o: the result
    """

    def __init__(
        self, operand: FloatFormat, result: FloatFormat, *, products: int, alignment_bits: int
    ) -> None:
        self._operand = operand
        self._result = result
        self._products = products
        self._alignment_bits = alignment_bits
        least = max(2 * operand.significand_bits, result.significand_bits) + 2
        if alignment_bits < least:
            raise ValueError(f"`alignment_bits` must be at least {least}, not {alignment_bits}")
        super().__init__(
            {
                "a": In(data.ArrayLayout(operand.bits, products)),
                "b": In(data.ArrayLayout(operand.bits, products)),
                "c": In(result.bits),
                "o": Out(result.bits),
            }
        )

    @property
    def operand(self) -> FloatFormat:
        return self._operand

    @property
    def result(self) -> FloatFormat:
        return self._result

    @property
    def products(self) -> int:
        return self._products

    @property
    def alignment_bits(self) -> int:
        return self._alignment_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._products
        m.submodules.unpack_c = c = Unpack(self._result)
        m.d.comb += c.i.eq(self.c)
        operands: dict[str, list[Unpack]] = {"a": [], "b": []}
        for name, unpacked in operands.items():
            for k in range(n):
                m.submodules[f"unpack_{name}_{k}"] = unpack = Unpack(self._operand)
                m.d.comb += unpack.i.eq(getattr(self, name)[k])
                unpacked.append(unpack)
        layout = operands["a"][0].o.shape()
        m.submodules.specials = specials = SpecialCases(n, layout, c.o.shape())
        m.d.comb += specials.addend.eq(c.o)
        exponent_bits = max(layout["exponent"].width + 1, c.o.shape()["exponent"].width)
        m.submodules.maximum = maximum = ExponentMaximum(n + 1, exponent_bits)
        m.submodules.sum = total = AlignedSum(
            products=n,
            product_bits=2 * self._operand.significand_bits,
            addend_bits=self._result.significand_bits,
            alignment_bits=self._alignment_bits,
            distance_bits=exponent_bits,
        )
        for k, (a, b) in enumerate(zip(operands["a"], operands["b"], strict=True)):
            exponent = Signal(signed(exponent_bits), name=f"exponent_{k}")
            m.d.comb += [
                specials.a[k].eq(a.o),
                specials.b[k].eq(b.o),
                exponent.eq(a.o.exponent + b.o.exponent),
                maximum.exponents[k].eq(exponent),
                maximum.ignore[k].eq(a.o.zero | b.o.zero),
                total.significands[k].eq(a.o.significand * b.o.significand),
                total.distances[k].eq(maximum.maximum - exponent),
                total.negative[k].eq(a.o.sign ^ b.o.sign ^ c.o.sign),
            ]
        m.d.comb += [
            maximum.exponents[n].eq(c.o.exponent),
            maximum.ignore[n].eq(c.o.zero),
            total.addend.eq(c.o.significand),
            total.addend_distance.eq(maximum.maximum - c.o.exponent),
        ]
        limit = exponent_limit(self._result, maximum.maximum, head_bits(n))
        m.submodules.normalise = normalise = NormaliseSum(
            self._result, sum_bits=total.sum_bits, limit_bits=len(limit)
        )
        m.submodules.round = rounder = RoundPack(self._result)
        m.d.comb += [
            normalise.total.eq(
                (Cat(total.carry, total.rows[0]) + Cat(total.carry, total.rows[1]))[1:]
            ),
            normalise.limit.eq(limit),
            normalise.flip.eq(c.o.sign),
            normalise.lost_positive.eq(total.lost_positive),
            normalise.lost_negative.eq(total.lost_negative),
            normalise.negative_zero.eq(specials.o.negative_zero),
            rounder.i.eq(normalise.o),
            rounder.special.eq(specials.o),
            self.o.eq(rounder.o),
        ]
        return m


UNPAUSED = Pauses()

Patterns = npt.NDArray[np.uint64]
Triple = tuple[Patterns, Patterns, Patterns]


@dataclass(frozen=True)
class Shape:
    """One instance of the component."""

    operand: str
    result: str
    products: int
    alignment_bits: int

    def __str__(self) -> str:
        return f"{self.operand}_{self.result}_{self.products}_{self.alignment_bits}"

    @property
    def formats(self) -> tuple[FloatFormat, FloatFormat]:
        return FLOAT_FORMATS[self.operand], FLOAT_FORMATS[self.result]


UNIT_SHAPES = (
    Shape("fp16", "fp32", 8, 56),
    Shape("bf16", "fp32", 8, 28),
    Shape("fp32", "fp32", 4, 56),
)
FP8_SHAPES = (Shape("fp8e4m3", "fp16", 3, 14), Shape("fp8e5m2", "fp16", 3, 14))
SHAPES = (*UNIT_SHAPES, Shape("tf32", "fp32", 4, 28), *FP8_SHAPES)
INFINITE = tuple(shape for shape in SHAPES if shape.formats[0].has_infinity)
SINGLE = (Shape("fp16", "fp16", 1, 24), Shape("fp32", "fp32", 4, 56))


@cache
def rtl(shape: Shape) -> RtlFunction:
    operand, result = shape.formats
    component = FusedDotProduct(
        operand, result, products=shape.products, alignment_bits=shape.alignment_bits
    )
    return RtlFunction(component, f"fused_{shape}")


def run(shape: Shape, operands: Triple, pauses: Pauses = UNPAUSED) -> Patterns:
    a, b, c = operands
    return rtl(shape)(a=a, b=b, c=c, pauses=pauses)["o"]


def check(shape: Shape, operands: Triple, got: Patterns) -> None:
    """Fail unless every result is admissible and every one is the model's."""
    a, b, c = operands
    operand, result = shape.formats
    bits = shape.alignment_bits
    report = check_dot_products(a, b, c, got, operand=operand, result=result, alignment_bits=bits)
    assert report.checked == len(c)
    if report.violations:
        index, fault = report.violations[0]
        given = f"a={_hex(a[index])} b={_hex(b[index])} c={int(c[index]):#x}"
        pytest.fail(f"{fault}; {given}; {len(report.violations)} of {len(c)}")
    model = fused_dot_product(a, b, c, operand=operand, result=result, alignment_bits=bits)
    wrong = np.flatnonzero(model != got)
    if len(wrong):
        i = wrong[0]
        given = f"a={_hex(a[i])} b={_hex(b[i])} c={int(c[i]):#x}"
        pytest.fail(f"got {int(got[i]):#x}, model {int(model[i]):#x}; {given}; {len(wrong)}")


def _alone(shape: Shape, a: Patterns, b: Patterns) -> tuple[Patterns, Patterns]:
    """Operands of one product; all others are -0 * +0, which is -0 and leaves any sum as it is."""
    operand, _ = shape.formats
    left = np.full((len(a), shape.products), 1 << (operand.bits - 1), np.uint64)
    right = np.zeros((len(b), shape.products), np.uint64)
    left[:, shape.products // 2], right[:, shape.products // 2] = a, b
    return left, right


def _hex(patterns: Patterns) -> str:
    return "[" + ", ".join(hex(pattern) for pattern in patterns.tolist()) + "]"


def stimulus(shape: Shape, kind: str, count: int, seed: int) -> Triple:
    operand, result = shape.formats
    rng = np.random.default_rng(seed)
    return stimuli.dot_products(rng, kind, count, shape.products, operand, result)


@pytest.mark.parametrize("kind", stimuli.DOT_PRODUCT_KINDS)
@pytest.mark.parametrize("shape", slow_but(UNIT_SHAPES[:1], UNIT_SHAPES), ids=str)
def test_clauses_and_model_on_a_million(shape: Shape, kind: str) -> None:
    """10^6 cases a format, spread over the kinds of stimuli."""
    operands = stimulus(shape, kind, cases(1_000_000) // len(stimuli.DOT_PRODUCT_KINDS) + 1, 201)
    check(shape, operands, run(shape, operands))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES[len(UNIT_SHAPES) :], ids=str)
def test_clauses_and_model_on_other_formats(shape: Shape) -> None:
    for seed, kind in enumerate(stimuli.DOT_PRODUCT_KINDS):
        operands = stimulus(shape, kind, cases(8_000), 300 + seed)
        check(shape, operands, run(shape, operands))


@pytest.mark.parametrize("shape", slow_but(UNIT_SHAPES[:1], SHAPES), ids=str)
def test_order_does_not_matter(shape: Shape) -> None:
    """Clause 3: every result again with its products permuted, and with stalls."""
    rng = np.random.default_rng(401)
    for kind in ("mixed", "cancellation", "accumulator_cancels", "special"):
        a, b, c = stimulus(shape, kind, cases(8_000), 402)
        order = rng.permuted(np.tile(np.arange(shape.products), (len(c), 1)), axis=1)
        permuted = np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1), c
        pauses = Pauses(seed=403, gap=0.2, stall=0.3)
        assert np.array_equal(run(shape, (a, b, c)), run(shape, permuted, pauses))


@pytest.mark.parametrize("shape", slow_but([], SINGLE), ids=str)
def test_one_product_is_softfloats_multiply_add(shape: Shape) -> None:
    """Clause 2 against SoftFloat, 10^6 cases."""
    operand, result = shape.formats
    a, b = operand_pairs(operand, cases(800_000), 501)
    rng = np.random.default_rng(502)
    c = rng.permutation(operand_pairs(operand, len(a), 503)[0])[: len(a)]
    extra = [stimulus(shape, kind, cases(100_000), 504) for kind in ("moderate", "sum_cancels")]
    a = np.concatenate([a, *(part[0][:, 0] for part in extra)])
    b = np.concatenate([b, *(part[1][:, 0] for part in extra)])
    c = np.concatenate([c, *(part[2] for part in extra)])
    got = run(shape, (*_alone(shape, a, b), c))
    expected = softfloat.multiply_add(a, b, c, result)
    wrong = np.flatnonzero(got != expected)
    first = [hex(x[wrong[0]]) for x in (a, b, c, got, expected)] if len(wrong) else []
    assert not len(wrong), f"{len(wrong)} differ, first (a, b, c, got, expected): {first}"


@pytest.mark.parametrize("shape", slow_but([], FP8_SHAPES), ids=str)
def test_every_pair_of_fp8_values_with_special_addends(shape: Shape) -> None:
    """All 65,536 products of a format, each with an addend that changes from pair to pair."""
    left, right = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    addends = stimuli.special_values(FLOAT_FORMATS["fp16"])
    c = np.resize(addends, left.size)
    a, b = left.ravel().astype(np.uint64), right.ravel().astype(np.uint64)
    operands = (*_alone(shape, a, b), c)
    check(shape, operands, run(shape, operands))


@pytest.mark.parametrize("shape", slow_but(UNIT_SHAPES[:1], INFINITE), ids=str)
def test_an_infinity_meets_a_zero_or_another_infinity_in_every_lane(shape: Shape) -> None:
    """Clause on special values: each pair in one lane, all other terms finite and not zero."""
    operand, result = shape.formats
    sign = np.uint64(1 << (operand.bits - 1))
    one, infinity = np.uint64(operand.one), np.uint64(operand.infinity)
    pairs = [(infinity, sign * 0), (sign * 0, infinity), (infinity, one), (one | sign, infinity)]
    rows = [
        (lane, pair, c)
        for lane in range(shape.products)
        for pair in pairs
        for c in (result.one, result.infinity, result.infinity | 1 << (result.bits - 1))
    ]
    a = np.full((len(rows), shape.products), one)
    b = np.full((len(rows), shape.products), one)
    for row, (lane, pair, _) in enumerate(rows):
        a[row, lane], b[row, lane] = pair
    operands = (a, b, np.array([c for _, _, c in rows], np.uint64))
    check(shape, operands, run(shape, operands))
