"""A dot product composed of the parts of the fused arithmetic, to test them together."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.fused.aligned_sum import AlignedSum, head_bits
from tilewright.hw.arith.fused.maximum import ExponentMaximum
from tilewright.hw.arith.fused.specials import SpecialCases
from tilewright.hw.arith.round import NormaliseSum, RoundPack, exponent_limit
from tilewright.hw.arith.unpack import Unpack
from tilewright.hw.spec.formats import FloatFormat


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
