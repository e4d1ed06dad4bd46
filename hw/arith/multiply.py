"""Floating-point multiplication, rounded once."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .normalise_and_round import normalise_and_round
from .pipeline import Bundle, Pipeline
from .round import exponent_limit
from .unpack import Unpack

__all__ = ["MULTIPLY_CUTS", "FloatMultiply"]

MULTIPLY_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("product", "result"),
    3: ("product", "shifted", "result"),
}
"""Where a multiplier of so many stages has its registers."""


class FloatMultiply(wiring.Component):
    """``o = RNE(a * b)``.

    IEEE 754 in every case, with the canonical NaN. Latency ``stages`` cycles (0: combinational),
    an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    operand: format of a and b
    result: format of the product; default: the operands'
    stages: register stages, 0..3, see :data:`MULTIPLY_CUTS`

    Members
    -------
    a, b: the operands
    advance: (with stages) enables all registers
    o: the product
    """

    def __init__(
        self, operand: FloatFormat, result: FloatFormat | None = None, *, stages: int = 0
    ) -> None:
        self._operand = operand
        self._result = result or operand
        self._stages = stages
        if stages not in MULTIPLY_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(MULTIPLY_CUTS)}, not {stages}")
        members = {"a": In(operand.bits), "b": In(operand.bits), "o": Out(self._result.bits)}
        super().__init__(members | ({"advance": In(1)} if stages else {}))

    @property
    def operand(self) -> FloatFormat:
        return self._operand

    @property
    def result(self) -> FloatFormat:
        return self._result

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._stages else C(1)
        pipeline = Pipeline(m, self._stages, advance, MULTIPLY_CUTS)
        bundle = pipeline.cut("product", self._product(m))
        sign = {"flip": bundle["negative"], "negative_zero": bundle["negative"]}
        m.d.comb += self.o.eq(normalise_and_round(m, {**bundle, **sign}, self._result, pipeline))
        return m

    def _product(self, m: Module) -> Bundle:
        """The exact product, and what its rounding needs to know."""
        # Subnormal operands are not normalised: the product is, which takes no more stages.
        m.submodules.unpack_a = a = Unpack(self._operand, normalise=False)
        m.submodules.unpack_b = b = Unpack(self._operand, normalise=False)
        m.d.comb += [a.i.eq(self.a), b.i.eq(self.b)]
        return {
            "total": Cat(a.o.significand * b.o.significand, 0),
            "limit": exponent_limit(self._result, a.o.exponent + b.o.exponent, head_bits=2),
            "nan": a.o.nan | b.o.nan | (a.o.infinite & b.o.zero) | (a.o.zero & b.o.infinite),
            "infinite": a.o.infinite | b.o.infinite,
            "negative": a.o.sign ^ b.o.sign,
        }
