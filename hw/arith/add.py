"""Floating-point addition, rounded once."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .fused.aligned_sum import Align
from .pipeline import Bundle, Pipeline, count_leading_zeros
from .round import limit_offset, normalise_and_round
from .unpack import Unpack

__all__ = ["ADD_CUTS", "FloatAdd"]

ADD_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("total", "result"),
    3: ("aligned", "total", "result"),
    4: ("operands", "aligned", "total", "result"),
}
"""Cuts at which an adder has its registers, by the number of stages."""


class FloatAdd(wiring.Component):
    """Computes ``o = RNE(a + b)``, or ``RNE(a - b)``.

    IEEE 754 in every case, with the canonical NaN. Latency ``stages`` cycles (0: combinational),
    an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    operand: format of the operands
    result: format of the sum: the operands', or one with as many fraction bits and more exponent
        bits; default: the operands'
    stages: register stages, 0..4, see :data:`ADD_CUTS`

    Members
    -------
    a, b: the operands
    subtract: negates b
    advance: (with stages) enables all registers
    o: the sum
    """

    def __init__(
        self, operand: FloatFormat, result: FloatFormat | None = None, *, stages: int = 0
    ) -> None:
        self._operand = operand
        self._result = result or operand
        self._stages = stages
        if self._result.fraction_bits != operand.fraction_bits:
            raise ValueError(
                f"`result` must have {operand.fraction_bits} fraction bits, as {operand.name}, "
                f"not {self._result.fraction_bits}"
            )
        if stages not in ADD_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(ADD_CUTS)}, not {stages}")
        members = {
            "a": In(operand.bits),
            "b": In(operand.bits),
            "subtract": In(1),
            "o": Out(self._result.bits),
        }
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
        pipeline = Pipeline(m, self._stages, advance, ADD_CUTS)
        operands = {"a": self.a, "b": self.b, "subtract": self.subtract}
        bundle = pipeline.cut("aligned", self._align(m, **pipeline.cut("operands", operands)))
        bundle = pipeline.cut("total", self._total(m, bundle))
        m.d.comb += self.o.eq(normalise_and_round(m, bundle, self._result, pipeline))
        return m

    def _align(self, m: Module, a: Value, b: Value, subtract: Value) -> Bundle:
        """Aligns the significands; also returns the lost bits and other inputs of rounding."""
        fmt = self._operand
        # Subnormal operands need no normalising: their leading zeros cost nothing in a sum.
        m.submodules.unpack_a = unpack_a = Unpack(fmt, normalise=False, biased=True)
        m.submodules.unpack_b = unpack_b = Unpack(fmt, normalise=False, biased=True)
        m.d.comb += [unpack_a.i.eq(a), unpack_b.i.eq(b)]
        a, b = unpack_a.o, unpack_b.o
        sign_b = b.sign ^ subtract
        above = Signal(signed(fmt.exponent_bits + 1))
        below = Signal(signed(fmt.exponent_bits + 1))
        swap = Signal()
        large = Signal(fmt.significand_bits)
        small = Signal(fmt.significand_bits)
        anchor = Signal(fmt.exponent_bits)
        distance = Signal(fmt.exponent_bits)
        m.d.comb += [
            above.eq(a.exponent - b.exponent),
            below.eq(b.exponent - a.exponent),
            swap.eq(above[-1]),
            anchor.eq(Mux(swap, b.exponent, a.exponent)),
            distance.eq(Mux(swap, below, above)),
            large.eq(Mux(swap, b.significand, a.significand)),
            small.eq(Mux(swap, a.significand, b.significand)),
        ]
        # Two guard bits: one for a carry-free cancellation, one to round; the rest is sticky.
        window = fmt.significand_bits + 2
        m.submodules.align = align = Align(
            fmt.significand_bits, window, len(distance), coarse_first=True
        )
        differ = Signal()
        m.d.comb += [
            align.significand.eq(small),
            align.distance.eq(distance),
            differ.eq(a.sign ^ sign_b),
        ]
        return {
            "large": large,
            "small": align.window,
            "differ": differ,
            "anchor": anchor,
            "flip": Mux(swap, sign_b, a.sign),
            "lost_positive": align.lost & ~differ,
            "lost_negative": align.lost & differ,
            "negative_zero": a.sign & sign_b,
            "nan": a.nan | b.nan | (a.infinite & b.infinite & differ),
            "infinite": a.infinite | b.infinite,
            "negative": Mux(a.infinite, a.sign, sign_b),
        }

    def _total(self, m: Module, bundle: Bundle) -> Bundle:
        """The signed sum of the significands, and by how much it moves up."""
        large, small, differ = bundle["large"], bundle["small"], bundle["differ"]
        bits = len(small) + 1
        total = Signal(signed(bits + 1))
        first = Cat(differ, C(0, len(small) - len(large)), large, C(0, 2))
        second = Cat(differ, small ^ differ.replicate(len(small)), differ.replicate(2))
        m.d.comb += total.eq((first + second)[1 : bits + 2])
        offset = limit_offset(self._result, head_bits=2, leading_zeros=0) - self._operand.bias
        limit = Signal(signed(self._result.exponent_bits + 1))
        m.d.comb += limit.eq(bundle["anchor"] + offset)
        # The first bit that is not the sign is where neighbours differ; no farther than the limit.
        change = Signal(bits)
        m.d.comb += change.eq(total[:-1] ^ total[1:])
        at_limit = Cat(limit == distance for distance in reversed(range(bits)))
        zeros = count_leading_zeros(m, change | at_limit, name="zeros")
        done = ("large", "small", "differ", "anchor")
        rest = {name: bundle[name] for name in bundle if name not in done}
        return {"total": total, "zeros": zeros, "limit": limit, **rest}
