"""Integer multiplication and addition."""

from __future__ import annotations

from amaranth.hdl import C, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arith.multiplier import Multiplier
from ...arith.pipeline import Pipeline

__all__ = ["INTEGER_CUTS", "IntegerMultiplyAdd"]

INTEGER_CUTS: dict[int, tuple[str, ...]] = {0: (), 1: ("product",), 2: ("product", "sum")}
"""Where a unit of so many stages has its registers."""


class IntegerMultiplyAdd(wiring.Component):
    """``o = a * b + c`` modulo ``2**sum_bits``, signed.

    The sum is wide enough for every product, so both halves of one are there. Latency ``stages``
    cycles (0: combinational), an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    bits: width of a and b
    sum_bits: width of c and of the result, at least ``2 * bits``
    stages: register stages, 0..2, see :data:`INTEGER_CUTS`

    Members
    -------
    a, b, c: the operands
    advance: (with stages) enables all registers
    o: the result
    """

    def __init__(self, bits: int, sum_bits: int, *, stages: int = 0) -> None:
        self._bits = bits
        self._sum_bits = sum_bits
        self._stages = stages
        if sum_bits < 2 * bits:
            raise ValueError(f"`sum_bits` must be at least {2 * bits}, not {sum_bits}")
        if stages not in INTEGER_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(INTEGER_CUTS)}, not {stages}")
        members = {"a": In(bits), "b": In(bits), "c": In(sum_bits), "o": Out(sum_bits)}
        super().__init__(members | ({"advance": In(1)} if stages else {}))

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def sum_bits(self) -> int:
        return self._sum_bits

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._stages else C(1)
        pipeline = Pipeline(m, self._stages, advance, INTEGER_CUTS)
        m.submodules.multiplier = multiplier = Multiplier(self._bits, signed=True)
        m.d.comb += [multiplier.a.eq(self.a), multiplier.b.eq(self.b)]
        bundle = pipeline.cut("product", {"product": multiplier.o, "addend": self.c})
        product = Signal(signed(self._sum_bits))
        total = Signal(self._sum_bits)
        m.d.comb += [product.eq(bundle["product"]), total.eq(product + bundle["addend"])]
        m.d.comb += self.o.eq(pipeline.cut("sum", {"total": total})["total"])
        return m
