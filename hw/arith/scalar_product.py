"""(x) of a semiring on two values, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat, IntFormat
from .add import FloatAdd
from .normalise_and_round import normalise_and_round
from .pipeline import Bundle, Pipeline
from .round import exponent_limit
from .scalar_functions import choose, delay, is_true, saturating_sum, truth
from .scalar_operator import ScalarOperator
from .unpack import Unpack

MULTIPLY_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("product", "result"),
    3: ("product", "shifted", "result"),
}
"""Cuts at which a multiplier has its registers, by the number of stages."""


class FloatMultiply(wiring.Component):
    """Computes ``o = RNE(a * b)``.

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
        """Computes the exact product, and the other inputs of rounding."""
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


__all__ = ["ScalarProduct"]


class ScalarProduct(ScalarOperator):
    """Computes ``o = a (x) b``, rounded once.

    Integers: sums saturate, products are taken modulo ``2**bits``, and where (+) is min or max
    the product of the two padding values is its identity. A squared difference of floats is that
    of the difference rounded to the format's precision, which neither overflows nor underflows
    before it is squared. "second" is b where a is not 0, else 0.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose (x) it is
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the product
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, times = self._format, self._semiring.times
        if isinstance(fmt, FloatFormat) and times in ("mul", "add", "square_difference"):
            m.d.comb += self.o.eq(self._rounded(m, fmt))
            return m
        if times == "and":
            result = truth(is_true(self.a, fmt) & is_true(self.b, fmt), fmt)
        elif times == "second":
            result = Mux(is_true(self.a, fmt), self.b, C(0, fmt.bits))
        elif times in ("min", "max"):
            result = choose(m, self.a, self.b, fmt, maximum=times == "max")
        else:
            assert isinstance(fmt, IntFormat)
            result = self._integer(m, fmt)
        m.d.comb += self.o.eq(delay(m, result, self._stages, self.advance, "result"))
        return m

    def _rounded(self, m: Module, fmt: FloatFormat) -> Value:
        """Multiplies, adds or squares a difference with an adder or a multiplier of floats."""
        a, b, operand, stages = self.a, self.b, fmt, self._stages
        if self._semiring.times != "mul":
            squares = self._semiring.times == "square_difference"
            # With a bit more, no difference of two values overflows, and none is subnormal.
            wide = FloatFormat(
                name="wide",
                exponent_bits=fmt.exponent_bits + 1,
                fraction_bits=fmt.fraction_bits,
                container_bits=fmt.container_bits + 1,
            )
            before = min(1, stages - 1) if squares else stages
            m.submodules.add = add = FloatAdd(fmt, wide if squares else fmt, stages=before)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.subtract.eq(int(squares))]
            if before:
                m.d.comb += add.advance.eq(self.advance)
            if not squares:
                return add.o
            a, b, operand, stages = add.o, add.o, wide, stages - before
        m.submodules.multiply = multiply = FloatMultiply(operand, fmt, stages=stages)
        m.d.comb += [multiply.a.eq(a), multiply.b.eq(b), multiply.advance.eq(self.advance)]
        return multiply.o

    def _integer(self, m: Module, fmt: IntFormat) -> Value:
        """The operation before its registers."""
        if self._semiring.times == "add":
            found = saturating_sum(m, self.a, self.b, fmt)
        else:
            x = Signal(signed(fmt.bits), name="left")
            y = Signal(signed(fmt.bits), name="right")
            product = Signal(fmt.bits)
            squares = self._semiring.times == "square_difference"
            m.d.comb += [
                x.eq(self.a - self.b if squares else self.a),
                y.eq(x if squares else self.b),
                product.eq(x * y),
            ]
            found = product
        if self._semiring.plus not in ("min", "max"):
            return found
        padding, identity = self._semiring.padding_in(fmt), self._semiring.identity_in(fmt)
        assert padding is not None
        assert identity is not None
        padded = (self.a == padding[0]) & (self.b == padding[1])
        return Mux(padded, C(identity, fmt.bits), found)
